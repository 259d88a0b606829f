package party

import (
	partyv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/party/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/fault"
)

// Vitals of somebody about whom nothing was said.
const (
	freshHP  = 4
	freshSTR = 10
)

func freshVitals() *partyv1.Vitals {
	return &partyv1.Vitals{Hp: freshHP, HpMax: freshHP, Str: freshSTR, StrMax: freshSTR}
}

// checkVitals refuses points above what somebody has when rested.
func checkVitals(field string, v *partyv1.Vitals) error {
	switch {
	case v.GetHp() > v.GetHpMax():
		return fault.Invalid(field+".hp", "%d is more than hp_max, %d", v.GetHp(), v.GetHpMax())
	case v.GetStr() > v.GetStrMax():
		return fault.Invalid(field+".str", "%d is more than str_max, %d", v.GetStr(), v.GetStrMax())
	}
	return nil
}
