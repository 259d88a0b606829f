package notation

import (
	"math"
	"math/bits"
	"strconv"
	"strings"

	"github.com/wayfarer-rpg/wayfarer/rules/play"
)

// Value is an exact fraction, or a whole number. The zero value is 0.
type Value struct{ num, less1 int64 } // num / (less1+1), in lowest terms

// Whole makes a value of a whole number.
func Whole(n int64) Value { return Value{num: n} }

// fraction makes a value in lowest terms; den is not 0, and neither is the least int64.
func fraction(num, den int64) Value {
	if den < 0 {
		num, den = -num, -den
	}
	a, b := num, den
	for b != 0 {
		a, b = b, a%b
	}
	if a < 0 {
		a = -a
	}
	return Value{num / a, den/a - 1}
}

// Num and Den are the parts of the fraction, Den above 0.
func (v Value) Num() int64 { return v.num }

// Den is the denominator, 1 for a whole number.
func (v Value) Den() int64 { return v.less1 + 1 }

// IsWhole tells whether it is a whole number.
func (v Value) IsWhole() bool { return v.less1 == 0 }

// Floor is the greatest whole number not above it.
func (v Value) Floor() int64 {
	if v.IsWhole() {
		return v.num
	}
	q := v.num / v.Den()
	if v.num < 0 && v.num%v.Den() != 0 {
		q--
	}
	return q
}

// String is "7" or "5/2".
func (v Value) String() string {
	if v.IsWhole() {
		return strconv.FormatInt(v.num, 10)
	}
	return strconv.FormatInt(v.num, 10) + "/" + strconv.FormatInt(v.Den(), 10)
}

// decimal spells a value that was read as a decimal number.
func (v Value) decimal() string {
	if v.IsWhole() {
		return v.String()
	}
	rest := (v.num % v.Den()) * (decimals / v.Den())
	s := strconv.FormatInt(decimals+rest, 10)
	return strconv.FormatInt(v.num/v.Den(), 10) + "." + strings.TrimRight(s[1:], "0")
}

// decimals is the finest decimal fraction: a millionth.
const decimals = 1_000_000

func (v Value) float() float64 { return float64(v.num) / float64(v.Den()) }

// sign is -1, 0 or 1.
func (v Value) sign() int {
	switch {
	case v.num < 0:
		return -1
	case v.num > 0:
		return 1
	}
	return 0
}

func overflow() error { return play.Refuse(Overflow, "a value does not fit 64 bits") }

func mulInt(a, b int64) (int64, error) {
	hi, lo := bits.Mul64(abs64(a), abs64(b))
	if hi != 0 || lo > math.MaxInt64 {
		return 0, overflow()
	}
	if (a < 0) != (b < 0) {
		return -int64(lo), nil //nolint:gosec // checked
	}
	return int64(lo), nil //nolint:gosec // checked
}

func abs64(a int64) uint64 {
	if a < 0 {
		return -uint64(a) //nolint:gosec // two's complement
	}
	return uint64(a)
}

func addInt(a, b int64) (int64, error) {
	c := a + b
	if (c > a) != (b > 0) || c == math.MinInt64 {
		return 0, overflow()
	}
	return c, nil
}

// The steps of arithmetic fail with OVERFLOW, and with DIVISION_BY_ZERO where they divide.

// Add is v + w.
func (v Value) Add(w Value) (Value, error) {
	if v.less1|w.less1 == 0 {
		n, err := addInt(v.num, w.num)
		return Whole(n), err
	}
	a, err := mulInt(v.num, w.Den())
	if err != nil {
		return Value{}, err
	}
	b, err := mulInt(w.num, v.Den())
	if err != nil {
		return Value{}, err
	}
	den, err := mulInt(v.Den(), w.Den())
	if err != nil {
		return Value{}, err
	}
	num, err := addInt(a, b)
	if err != nil {
		return Value{}, err
	}
	return fraction(num, den), nil
}

// Neg is -v.
func (v Value) Neg() Value { return Value{-v.num, v.less1} }

// Sub is v - w.
func (v Value) Sub(w Value) (Value, error) { return v.Add(w.Neg()) }

// Mul is v * w.
func (v Value) Mul(w Value) (Value, error) {
	// Crosswise in lowest terms, so that nothing overflows that need not.
	a, b := fraction(v.num, w.Den()), fraction(w.num, v.Den())
	num, err := mulInt(a.num, b.num)
	if err != nil {
		return Value{}, err
	}
	den, err := mulInt(a.Den(), b.Den())
	if err != nil {
		return Value{}, err
	}
	return fraction(num, den), nil
}

// Div is v / w.
func (v Value) Div(w Value) (Value, error) {
	if w.num == 0 {
		return Value{}, play.Refuse(DivisionByZero, "%s is divided by 0", v)
	}
	return v.Mul(fraction(w.Den(), w.num))
}

// IntDiv is v / w, rounded down.
func (v Value) IntDiv(w Value) (Value, error) {
	q, err := v.Div(w)
	return Whole(q.Floor()), err
}

// Mod is what is left of v after IntDiv; it has the sign of w.
func (v Value) Mod(w Value) (Value, error) {
	q, err := v.IntDiv(w)
	if err != nil {
		return Value{}, err
	}
	if q, err = q.Mul(w); err != nil {
		return Value{}, err
	}
	return v.Sub(q)
}

// Cmp is -1, 0 or 1 as v is less than, equal to or greater than w.
func (v Value) Cmp(w Value) int {
	if v.less1|w.less1 == 0 {
		switch {
		case v.num < w.num:
			return -1
		case v.num > w.num:
			return 1
		}
		return 0
	}
	if v.sign() != w.sign() {
		if v.sign() < w.sign() {
			return -1
		}
		return 1
	}
	ah, al := bits.Mul64(abs64(v.num), uint64(w.Den())) //nolint:gosec // above 0
	bh, bl := bits.Mul64(abs64(w.num), uint64(v.Den())) //nolint:gosec // above 0
	c := 0
	switch {
	case ah < bh || ah == bh && al < bl:
		c = -1
	case ah != bh || al != bl:
		c = 1
	}
	return c * v.signOr1()
}

func (v Value) signOr1() int {
	if v.num < 0 {
		return -1
	}
	return 1
}

// maxExponent limits whole exponents.
const maxExponent = 1000

// Pow is v to the power w. Whole exponents are exact, others rounded to a millionth. It fails with OVERFLOW,
// DIVISION_BY_ZERO and BAD_VALUE.
func (v Value) Pow(w Value) (Value, error) {
	if !w.IsWhole() {
		return rounded(math.Pow(v.float(), w.float()))
	}
	n := w.num
	if n < 0 {
		inverse, err := Whole(1).Div(v)
		if err != nil {
			return Value{}, err
		}
		v, n = inverse, -n
	}
	if n > maxExponent && v != Whole(0) && v != Whole(1) && v != Whole(-1) {
		return Value{}, overflow()
	}
	if n > maxExponent {
		n = maxExponent + n%2 // of 0, 1 and -1 all even powers are alike, and all odd ones
	}
	out := Whole(1)
	for range n {
		var err error
		if out, err = out.Mul(v); err != nil {
			return Value{}, err
		}
	}
	return out, nil
}

// rounded takes a floating-point result to the nearest millionth.
func rounded(f float64) (Value, error) {
	switch {
	case math.IsNaN(f):
		return Value{}, play.Refuse(BadValue, "a function has no value there")
	case math.Abs(f) > math.MaxInt64/(2*decimals):
		return Value{}, overflow()
	}
	return fraction(int64(math.Round(f*decimals)), decimals), nil
}
