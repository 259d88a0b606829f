package access

const (
	leads   = "the rules want the leader"
	secrets = "what is secret is left out unless a GM reads"
	byHand  = "reported dice, an override and the like are for GMs"
)

// table has a row for each method of each service.
var table = map[string]map[string]Row{
	"wayfarer.console.v1.ConsoleService": {
		"Execute": {Acting, "GMs, and lines such as +roll, need name no character; what a line does, its service checks as well"},
	},
	"wayfarer.dice.v1.DiceService": {
		"Roll": {Play, byHand}, "BatchRoll": {Play, byHand}, "RollUsageDie": {Play, byHand}, "RollPool": {Play, byHand}, "RollTable": {Play, byHand},
		"GetRollLog": {Member, secrets}, "ListRolls": {Member, secrets}, "RotateRollLog": {Own, ""},
		"GetStream": {Member, "the seed is there once it is revealed, to nobody before"}, "ListStreams": {Member, "as GetStream"},
		"SetClientSeed": {Play, "once, before the first draw"},
		"CreateStream":  {Service, ""}, "Draw": {Service, ""}, "RevealStream": {Service, ""},
		"Odds": {Signed, "reads nothing but the request"}, "Verify": {Signed, "reads nothing but the request"},
	},
	"wayfarer.dungeon.v1.DungeonService": {
		"ImportDungeon": {GM, ""}, "ValidateDungeon": {Member, "reads nothing but the request and the ruleset"}, "GetDungeon": {Member, secrets}, "ListDungeons": {Member, secrets},
		"Simulate": {GM, "a report tells of cards"},
	},
	"wayfarer.dungeon.v1.RunService": {
		"StartRun": {Acting, leads}, "StageRun": {GM, ""}, "GetRun": {Member, secrets}, "ListRuns": {Member, secrets}, "WatchRun": {Member, secrets},
		"Draw": {Acting, byHand}, "Act": {Acting, byHand}, "Complete": {Acting, byHand}, "Leave": {Acting, byHand}, "Promote": {Acting, leads},
		"AdjustRun": {GM, ""}, "AbandonRun": {Acting, leads},
	},
	"wayfarer.dungeon.v1.DelveService": {
		"CreateDelve": {Acting, byHand}, "GetDelve": {Member, secrets}, "ListDelves": {Member, secrets}, "WatchDelve": {Member, secrets},
		"ListActivity": {Member, secrets}, "RecordMembers": {Acting, byHand}, "RecordProvisions": {Acting, byHand}, "RecordLights": {Acting, byHand},
		"BeginDelve": {Acting, byHand}, "Move": {Acting, byHand}, "Interact": {Acting, byHand}, "HunkerDown": {Acting, byHand},
		"LeaveHunker": {Acting, byHand}, "Wait": {Acting, byHand}, "AddRealTime": {GM, ""}, "TakeRisk": {Acting, byHand},
		"ShortRest": {Acting, byHand}, "LongRest": {Acting, byHand}, "StartCombat": {Acting, byHand}, "FightRounds": {Acting, byHand},
		"EndCombat": {Acting, byHand}, "AddLight": {Acting, byHand}, "SwitchLight": {Acting, byHand}, "RefuelLight": {Acting, byHand},
		"CastSpell": {Acting, byHand}, "EndSpell": {Acting, byHand}, "LeaveDelve": {Acting, byHand}, "NarrateEvent": {GM, ""},
		"AddRemark": {Acting, "to keep it among GMs is for GMs"}, "RaiseDanger": {GM, ""}, "AdjustDelve": {GM, ""},
		"SimulateDelves": {GM, ""},
	},
	"wayfarer.expedition.v1.ExpeditionService": {
		"CreateExpedition": {Play, ""}, "GetExpedition": {Member, secrets}, "ListExpeditions": {Member, secrets}, "WatchExpedition": {Member, secrets},
		"Execute": {Acting, "the service that owns what is commanded checks it"}, "OpenSession": {Own, ""}, "CloseSession": {Own, ""},
		"SetAbsence": {Own, ""}, "HandOverLeadership": {GM, ""}, "ReclaimLeadership": {Own, "whose character led before"},
		"AbandonExpedition": {Own, "once it travels, the leader of its run and the travelers of its journey"},
	},
	"wayfarer.party.v1.CampaignService": {
		"CreateCampaign": {Signed, "who begins it owns it"}, "GetCampaign": {Member, ""}, "ListCampaigns": {Signed, "those in which the caller has a role"},
		"SetMember": {GM, "owners and game masters are made by owners"}, "RemoveMember": {GM, "owners by owners; and everybody themselves"},
		"SetChapter": {GM, ""}, "GetRuleset": {Member, ""}, "ListRulesets": {Member, ""}, "OverrideRuleset": {GM, ""}, "WatchCampaign": {Member, secrets},
		"CreateParty": {Acting, byHand}, "GetParty": {Member, ""}, "ListParties": {Member, ""}, "JoinParty": {Acting, byHand}, "LeaveParty": {Acting, byHand},
		"PromoteMember": {Acting, leads}, "ResetParty": {Acting, byHand}, "FileRequest": {Acting, ""}, "ListRequests": {GM, ""}, "CloseRequest": {GM, ""},
	},
	"wayfarer.party.v1.CharacterService": {
		"CreateCharacter": {Player, "for others, and with other points, GMs"}, "GetCharacter": {Member, secrets}, "ListCharacters": {Member, secrets},
		"WatchCharacter": {Member, secrets}, "GrantPoints": {GM, ""}, "AddForm": {Acting, ""}, "SwitchForm": {Acting, ""}, "SetAbilities": {Acting, ""},
		"BuyTools": {Acting, ""}, "BuyBeltSlot": {Acting, ""}, "LoadTool": {Acting, ""}, "UnloadTool": {Acting, ""}, "ApproveCharacter": {GM, ""},
		"SetVitals": {GM, ""}, "SetDangerSheet": {Acting, "players until it is approved, and stats alone"},
	},
	"wayfarer.party.v1.CompanyService": {
		"CreateCompany": {Acting, "for one of the travelers; a pack is for GMs"}, "GetCompany": {Member, ""}, "ListCompanies": {Member, ""},
		"WatchCompany": {Member, ""}, "AddTraveler": {Acting, "for one of the company, or for who joins"},
		"RemoveTraveler": {Acting, "for one of the company"}, "SetPack": {GM, ""},
	},
	"wayfarer.party.v1.SceneService": {
		"CreateScene": {GM, ""}, "GetScene": {Member, secrets}, "ListScenes": {Member, secrets}, "WatchScene": {Member, secrets},
		"AddCharacter": {GM, ""}, "RemoveCharacter": {GM, ""}, "CreateChallenge": {GM, ""}, "EditChallenge": {GM, ""}, "SetSheet": {GM, ""},
		"RaiseDanger": {GM, ""}, "SetDanger": {GM, ""}, "EndEncounter": {GM, ""}, "LongTermRest": {GM, ""}, "EndScene": {GM, ""},
		"OpenCheck": {Acting, byHand}, "GetCheck": {Member, secrets}, "ListChecks": {Member, secrets}, "PayNegative": {GM, ""},
		"DeclineNegative": {Acting, "the character of the check"}, "RollCheck": {Acting, "the character of the check"},
		"RerollCheck": {Acting, "the character of the check"}, "ClaimSet": {Acting, "the character of the check"}, "SpendBotches": {GM, ""},
		"NoteBenefit": {Acting, "the character of the check"}, "CloseCheck": {Acting, "the character of the check"},
	},
	"wayfarer.party.v1.IntentService": {
		"KeepIntent": {Member, "one's own alone"},
	},
	"wayfarer.party.v1.LeaseService":      {"TakeLease": {Service, ""}, "ReturnLease": {Service, ""}},
	"wayfarer.party.v1.MembershipService": {"GetMembership": {Service, ""}, "GetEffectiveRuleset": {Service, ""}},
	"wayfarer.travel.v1.RegionService": {
		"ImportRegion": {GM, ""}, "ValidateRegion": {GM, ""}, "GetRegion": {Member, secrets}, "ListRegions": {Member, secrets},
	},
	"wayfarer.travel.v1.JourneyService": {
		"StartJourney": {Acting, byHand}, "GetJourney": {Member, secrets}, "ListJourneys": {Member, secrets}, "WatchJourney": {Member, secrets},
		"Move": {Acting, byHand}, "Search": {Acting, byHand}, "Forage": {Acting, byHand}, "PrepareRemains": {Acting, byHand},
		"EnterLocation": {Acting, byHand}, "LeaveLocation": {Acting, byHand}, "BuyFood": {Acting, byHand}, "BuyGear": {Acting, byHand},
		"JoinJourney": {Acting, ""}, "AddMember": {Acting, byHand}, "RemoveMember": {Acting, byHand}, "SellRemains": {Acting, byHand},
		"FreeFoodSlots": {Acting, byHand}, "Distribute": {Acting, byHand}, "Loot": {Acting, byHand}, "Harm": {GM, ""}, "Adjust": {GM, ""},
		"Rest": {Acting, byHand}, "LongRest": {Acting, byHand}, "Light": {Acting, byHand}, "TakeTurn": {Acting, byHand}, "Retreat": {Acting, byHand},
		"EndJourney": {Acting, byHand}, "AbandonJourney": {Acting, byHand},
		"SimulateJourneys": {GM, ""},
	},
	"wayfarer.travel.v1.MissionService": {
		"CreateMissionBoard": {GM, ""}, "GetMissionBoard": {Member, secrets}, "ListMissionBoards": {Member, secrets}, "WatchMissionBoard": {Member, secrets},
		"RollMissions": {GM, ""}, "UseMission": {GM, ""}, "TakeMission": {Acting, ""}, "DropMission": {Acting, ""}, "RotateMissionBoard": {GM, ""},
	},
}
