package notation

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/wayfarer-rpg/wayfarer/rules/play"
	"github.com/wayfarer-rpg/wayfarer/rules/play/repeat"
)

func init() { repeat.Properties(20260101, 0) }

// alike compares notations without the columns that they were read from.
var alike = cmp.Options{cmp.AllowUnexported(Value{}), cmpopts.IgnoreUnexported(Expr{}), cmpopts.EquateEmpty()}

func TestParse(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"d6":                             "1d6",
		"2d6+1":                          "2d6+1",
		" 2D6 - 3 + d4 ":                 "2d6-3+1d4",
		"1d6ro1!=5ro":                    "1d6ro=1ro !=5",
		"1d6e1rr":                        "1d6rr !=1",
		"2d6d-0":                         "2d6dl(-0)",
		"2d6kh(-0)-1":                    "2d6kh(-0)-1",
		"1d6[a\x07b] # c\x1b d\x00":      "1d6[a b] # c d",
		"1d6[\u202eerif] # \u2066c":      "1d6[erif] # c",
		"-1d8":                           "-1d8",
		"+7":                             "7",
		"0":                              "0",
		"1.50":                           "1.5",
		".25":                            "0.25",
		"3d6\u22121":                     "3d6-1",
		"3d6\u20131":                     "3d6-1",
		"\uff12d\uff16":                  "2d6",
		"\uff12\uff24\uff16\uff0b\uff11": "2d6+1",
		"2d6\u00a0+ 1":                   "2d6+1",
		"2d6 × 2 ÷ 4":                    "2d6*2/4",
		"1d1000000":                      "1d1000000",
		"1000d1":                         "1000d1",
		"d%":                             "1d100",
		"2d%%7":                          "2d100%7",
		"4dF":                            "4dF",
		"4df.2":                          "4dF",
		"dF.1":                           "1dF.1",
		"2d{1, 1,-2}":                    "2d{1,1,-2}",
		"(1+2)d(2*3)":                    "(1+2)d(2*3)",
		"(2)d6":                          "2d6",
		"(d4)d6":                         "(1d4)d6",
		"((2d6))":                        "2d6",
		"1+2*3":                          "1+2*3",
		"(1+2)*3":                        "(1+2)*3",
		"1-(2-3)":                        "1-(2-3)",
		"(1-2)-3":                        "1-2-3",
		"2^3^2":                          "2^3^2",
		"(2^3)^2":                        "(2^3)^2",
		"2**-1":                          "2^-1",
		"-2^2":                           "-2^2",
		"(-2)^2":                         "(-2)^2",
		"10//3":                          "10//3",
		"10 // 3":                        "10//3",
		"1--2":                           "1--2",
		"2d6++1":                         "2d6+1",
		"4d6kh3":                         "4d6kh3",
		"4d6 kh3":                        "4d6kh3",
		"4d6KH3":                         "4d6kh3",
		"4d6k3":                          "4d6kh3",
		"4d6k":                           "4d6kh1",
		"4d6d1":                          "4d6dl1",
		"4d6dl":                          "4d6dl1",
		"4d6pl1":                         "4d6dl1",
		"4d6ph1":                         "4d6dh1",
		"4d6p1":                          "4d6d=1",
		"4d6p<3":                         "4d6d<3",
		"4d6k>=4":                        "4d6k>=4",
		"4d6d==1":                        "4d6d=1",
		"4d6dl1kh2":                      "4d6kh2dl1",
		"4d6kh(1+1)":                     "4d6kh(1+1)",
		"2d6r<3":                         "2d6r<3",
		"2d6r1":                          "2d6r=1",
		"2d6rr1ro<2":                     "2d6r=1ro<2",
		"2d6r":                           "2d6rr",
		"2d6r ro":                        "2d6rrro",
		"6d6!":                           "6d6!",
		"6d6!!":                          "6d6!!",
		"6d6!p":                          "6d6!p",
		"6d6!!p>4":                       "6d6!!p>4",
		"6d6!=5":                         "6d6!=5",
		"6d6!5":                          "6d6!=5",
		"6d6!>4x2":                       "6d6!>4x2",
		"6d6!x2>4":                       "6d6!x2>4",
		"6d6! >4":                        "6d6! >4",
		"6d6e6":                          "6d6!=6",
		"6d6ra6":                         "6d6!=6x1",
		"4d6rol2":                        "4d6rol2",
		"4d6 ROH":                        "4d6roh1",
		"4d6ral1":                        "4d6el1",
		"4d6rah(1+1)":                    "4d6eh(1+1)",
		"4d6eh1":                         "4d6eh1",
		"1d6eh":                          "1d6eh1",
		"4d6rol-1":                       "4d6rol1-1",
		"4d6el2!=5rol":                   "4d6rol1!=5el2",
		"4d6kh3rol9eh0rol0":              "4d6rol9rol0eh0kh3",
		"4d6rr rorol":                    "4d6rrrorol1",
		"4d6elroh>3":                     "4d6roh1el1>3",
		"d6!!3!":                         "1d6!",
		"d6!x2!!p3":                      "1d6!!p=3",
		"2d6!!!":                         "2d6!",
		"d6!>0!6":                        "1d6!=6",
		"d6min2min3":                     "1d6min3",
		"d6max(1d4)min2max5":             "1d6min2max5",
		"3d6uou":                         "3d6u",
		"4d6sasd":                        "4d6sd",
		"2d6>3>4":                        "2d6>4",
		"2d6>3f1f2":                      "2d6>3f=2",
		"2d6>3f1>4":                      "2d6>4",
		"{2d6, 1d4}sd>3s<2":              "{2d6, 1d4}<2sa",
		"2d20cs20cs19kh1kh2":             "2d20kh1kh2cs=20cs=19",
		"6d6mi3ma5":                      "6d6min3max5",
		"6d6max5min3":                    "6d6min3max5",
		"4dFmin-1":                       "4dFmin-1",
		"4d6>3":                          "4d6>3",
		"4d6 > 3 f 1":                    "4d6>3f=1",
		"4d6>=(1+2)":                     "4d6>=(1+2)",
		"4d6<>2":                         "4d6<>2",
		"(4d6)>14":                       "(4d6)>14",
		"2d6+1>7":                        "2d6+1>7",
		"(1+2d6)>7":                      "(1+2d6)>7",
		"7<2d6":                          "7<2d6",
		"(2d6)!=7":                       "(2d6)<>7",
		"1d6r!=2":                        "1d6r<>2",
		"1d6ro!=2!":                      "1d6ro<>2!",
		"4d6>4f!=1":                      "4d6>4f<>1",
		"2d20cs!=20cf!=1":                "2d20cs<>20cf<>1",
		"2d6!p!=3":                       "2d6!p<>3",
		"2d6u!=3":                        "2d6u<>3",
		"(1d6, 2,)":                      "{1d6, 2}",
		"(2d6 , )+1":                     "2d6+1",
		"5 == 5":                         "5=5",
		"3d6u":                           "3d6u",
		"3d6uo=2":                        "3d6uo=2",
		"2d20cs20cf1":                    "2d20cs=20cf=1",
		"2d20cs>18cfcs":                  "2d20cs>18cscf",
		"4d6s":                           "4d6sa",
		"4d6sdkh2":                       "4d6kh2sd",
		"{4d6+2d8, 3d20, 5d10}kh1":       "{4d6+2d8, 3d20, 5d10}kh1",
		"{2d6,3d4}>5f<2":                 "{2d6, 3d4}>5f<2",
		"(1d6, 2d4)k1":                   "{1d6, 2d4}kh1",
		"{4d6+2}kl2":                     "{4d6+2}kl2",
		"{{1,2}dh1,3}sd":                 "{{1, 2}dh1, 3}sd",
		"abs(-3)":                        "abs(-3)",
		"max(1d6,2,3d4)":                 "max(1d6, 2, 3d4)",
		"ROUND(1d6/2)":                   "round(1d6/2)",
		"2d6[fire]+1[ magic  x ]":        "2d6[fire]+1[magic x]",
		"(1+2)[a][b]*2":                  "(1+2)[a, b]*2",
		"-2[a]":                          "-2[a]",
		"(-2)[a]":                        "(-2)[a]",
		"2d6 # for  luck":                "2d6 # for luck",
		"2d6 // comes to blows":          "2d6 # comes to blows",
		"2d6 /* in */ +1 # out":          "2d6+1 # in out",
		"ud8":                            "1ud8",
		"2UD20kl":                        "2ud20kl1",
		"dw5":                            "dw5",
		"DW5d2p1+1":                      "dw5d2p1+1",
		"dw0p3":                          "dw0p3",
	} {
		t.Run(in, func(t *testing.T) {
			t.Parallel()
			n, err := Parse(in)
			if err != nil {
				t.Fatal(err)
			}
			if n.String() != want {
				t.Errorf("canonical = %q, want %q", n, want)
			}
			again, err := Parse(n.String())
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(n, again, alike); d != "" {
				t.Errorf("parse(print): %s", d)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]struct{ code, message string }{
		"":                                    {BadNotation, "column 1: found the end"},
		" ":                                   {BadNotation, "column 2: found the end"},
		"d":                                   {BadNotation, "column 2: found the end, expected the number of sides"},
		"2d":                                  {BadNotation, "column 3"},
		"2d6 3":                               {BadNotation, "column 5: found '3', expected an operator or the end"},
		"2d6 d4":                              {BadNotation, "column 5"},
		"2d6+":                                {BadNotation, "column 5: found the end"},
		"2x6":                                 {BadNotation, "column 2: found 'x'"},
		"1d0":                                 {BadNotation, "column 3: found '0', expected at least 1 side"},
		"0d6":                                 {BadNotation, "column 1: found '0', expected at least 1 die"},
		"1.5d6":                               {BadNotation, "column 1"},
		"1d2147483648":                        {BadNotation, "column 3"},
		"2147483648d6":                        {BadNotation, "column 1: found '2', expected a number of at most 2147483647"},
		"2147483647d6":                        {TooMuchWork, "1000 dice"},
		"1.1234567":                           {BadNotation, "column 3: found '1', expected at most 6 decimals"},
		"99999999999999999999999999d6":        {BadNotation, "column 1"},
		"1001d6":                              {TooMuchWork, "1000"},
		"(1":                                  {BadNotation, "column 3: found the end"},
		"1)":                                  {BadNotation, "column 2: found ')'"},
		"()":                                  {BadNotation, "column 2"},
		"(1,,)":                               {BadNotation, "column 4"},
		"(,)":                                 {BadNotation, "column 2"},
		"{1,}":                                {BadNotation, "column 4"},
		"4d6rrl1":                             {Endless, "column 4: a highest and a lowest die are always there"},
		"4d6 r h(1+1)":                        {BadNotation, "column 7: found 'h'"},
		"4d6rh":                               {Endless, "column 4"},
		"4d6rhx":                              {BadNotation, "column 5: found 'h'"},
		"4d6!h1":                              {BadNotation, "column 5: found 'h'"},
		"4d6eh1x2":                            {BadNotation, "column 7: found 'x'"},
		"4d6rol(1-2)":                         {BadValue, "a number of dice to roll again or to explode cannot be -1"},
		"{4d6, 1}rol1":                        {BadNotation, "what a group takes"},
		"ud8roh1":                             {BadNotation, "kh or kl"},
		"1d1!6!":                              {Endless, "every face of a d1 explodes"},
		"5d6eh1el1u":                          {Endless, "7 dice cannot be unique"},
		"2d6r<7rol1":                          {Endless, "every face of a d6 is rolled again"},
		"1d20 to hit":                         {BadNotation, "column 6: found 't'"},
		"(2d6,)kh1":                           {BadNotation, "column 7: found 'k', expected an operator or the end"},
		"{}":                                  {BadNotation, "column 2"},
		"{1":                                  {BadNotation, "column 3"},
		"d{}":                                 {BadNotation, "column 3"},
		"d{1,x}":                              {BadNotation, "column 5"},
		"dice":                                {BadNotation, "column 2"},
		"goblin":                              {BadNotation, "column 1"},
		"abs 1":                               {BadNotation, "column 5"},
		"abs()":                               {BadNotation, "column 5"},
		"abs(1,2)":                            {BadNotation, "abs with 1 arguments"},
		"pow(1)":                              {BadNotation, "pow with 2 arguments"},
		"2d6[":                                {BadNotation, `expected "]"`},
		"2d6[]":                               {BadNotation, "the text of a label"},
		"2d6[[a]]":                            {BadNotation, "column 5"},
		"[fire]2d6":                           {BadNotation, "column 1"},
		"2d6 /* open":                         {BadNotation, "column 6"},
		"1<2<3":                               {BadNotation, "column 4"},
		"2d6f1":                               {BadNotation, "expected a success"},
		"2d6min":                              {BadNotation, "column 7"},
		"2d6r>":                               {BadNotation, "column 6"},
		"{1d6,2}!":                            {BadNotation, "what a group takes"},
		"ud7":                                 {BadNotation, "usage die"},
		"ud%":                                 {BadNotation, "usage die"},
		"ud8!":                                {BadNotation, "kh or kl"},
		"dw":                                  {BadNotation, "column 3"},
		"dw5d":                                {BadNotation, "column 5"},
		"dw900d200":                           {TooMuchWork, "1000"},
		"1d1!":                                {Endless, "every face of a d1 explodes"},
		"1d6!>0":                              {Endless, "explodes"},
		"1d6!!p<=6":                           {Endless, "explodes"},
		"1d6r<6!":                             {Endless, "explodes"},
		"1d6r<4r>3":                           {Endless, "every face of a d6 is rolled again"},
		"1d6r<4r=4r=5r=6":                     {Endless, "rolled again"},
		"d{2,2}r2":                            {Endless, "rolled again"},
		"1d(3-2)!":                            {Endless, "explodes"},
		"1d1000000r<1000001":                  {Endless, "rolled again"},
		"7d6u":                                {Endless, "unique"},
		"1d6/0":                               {DivisionByZero, "column 4"},
		"1/(2-2)":                             {DivisionByZero, "1"},
		"1//0":                                {DivisionByZero, ""},
		"1%0":                                 {DivisionByZero, ""},
		"0^-1":                                {DivisionByZero, ""},
		"2^63":                                {Overflow, ""},
		"2147483647*2147483647*3":             {Overflow, ""},
		"2^1001":                              {Overflow, ""},
		"sqrt(-1)":                            {BadValue, "no value"},
		"log(0)":                              {Overflow, ""},
		"(1/2)d6":                             {BadValue, "column 3: a number of dice cannot be 1/2"},
		"(-1)d6":                              {BadValue, "cannot be -1"},
		"1d(0)":                               {BadValue, "a number of sides cannot be 0"},
		"1d6kh(1/2)":                          {BadValue, "cannot be 1/2"},
		"(2000)d6":                            {TooMuchWork, "1000"},
		"1d6!x1001":                           {TooMuchWork, "1000"},
		strings.Repeat("1+", 600) + "1":       {TooMuchWork, "1000 parts"},
		strings.Repeat("(", 2000):             {TooMuchWork, "nested at most 100"},
		strings.Repeat("(", 10_000):           {TooMuchWork, "4096 characters"},
		strings.Repeat("-", 2000) + "1":       {TooMuchWork, "nested"},
		strings.Repeat("2^", 500) + "1":       {TooMuchWork, "nested"},
		strings.Repeat("{", 2000):             {TooMuchWork, "nested"},
		"1 #" + strings.Repeat("x", 300):      {TooMuchWork, "200 characters"},
		"1[" + strings.Repeat("x", 300) + "]": {TooMuchWork, "200 characters"},
	} {
		t.Run(in[:min(len(in), 40)], func(t *testing.T) {
			t.Parallel()
			n, err := Parse(in)
			var r *play.Refusal
			if !errors.As(err, &r) || r.Code != want.code || !strings.Contains(r.Message, want.message) {
				t.Errorf("Parse = %v, %v, want %s with %q", n, err, want.code, want.message)
			}
		})
	}
}

// scripted rolls a notation with the faces given.
func scripted(t *testing.T, text string, faces ...int) (*Result, error) {
	t.Helper()
	n, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	dice := play.ReportedDice(faces...)
	r, err := n.Roll("test", dice)
	if closed := dice.Close(); err == nil && closed != nil {
		t.Fatal(closed)
	}
	return r, err
}

func TestRoll(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		text  string
		faces []int
		value string
	}{
		"dice in order, signs":                {"2d6-1d4+10", []int{6, 5, 3}, "18"},
		"fractions are exact":                 {"(1d6)/2+1/3", []int{5}, "17/6"},
		"halves are rounded up":               {"round(1d6/2)", []int{5}, "3"},
		"negative halves too":                 {"round(-1d6/2)", []int{5}, "-2"},
		"floor":                               {"floor(-1d6/2)", []int{5}, "-3"},
		"ceil":                                {"ceil(-1d6/2)", []int{5}, "-2"},
		"division rounded down":               {"-1d6//2", []int{5}, "-3"},
		"what is left has the divisor's sign": {"-1d6%3", []int{5}, "1"},
		"functions":                           {"abs(-1d6)+sign(-7)+max(1,4,2)+min(3,2)+pow(2,3)", []int{5}, "18"},
		"a root":                              {"sqrt(1d6)", []int{2}, "707107/500000"},
		"more functions":                      {"exp(0)+log(1)+sin(0)+cos(0)+tan(0)", nil, "2"},
		"a power of a fraction":               {"(1/2)^3", nil, "1/8"},
		"a broken power":                      {"4^0.5", nil, "2"},
		"fate dice":                           {"4dF", []int{1, 2, 3, 3}, "1"},
		"fate dice with blanks":               {"4dF.1", []int{1, 2, 5, 6}, "0"},
		"custom faces":                        {"2d{1,1,-9}", []int{2, 3}, "-8"},
		"percent":                             {"d%", []int{77}, "77"},
		"keep high":                           {"4d6kh3", []int{3, 1, 6, 2}, "11"},
		"keep low":                            {"2d20kl1", []int{3, 17}, "3"},
		"keep high and low":                   {"4d6kh1kl1", []int{3, 1, 6, 2}, "7"},
		"keep more than there are":            {"2d6kh5", []int{3, 4}, "7"},
		"keep none":                           {"2d6kh0", []int{3, 4}, "0"},
		"keep by value":                       {"4d6k>=3", []int{3, 1, 6, 2}, "9"},
		"drop":                                {"4d6dl1dh1", []int{3, 1, 6, 2}, "5"},
		"drop by value":                       {"4d6d=6", []int{3, 1, 6, 6}, "4"},
		"keep and drop":                       {"4d6kh3dl1", []int{3, 1, 6, 2}, "11"},
		"re-roll":                             {"2d6r<3", []int{1, 2, 5, 4}, "9"},
		"re-roll the lowest":                  {"1d6r", []int{1, 1, 2}, "2"},
		"re-roll once":                        {"2d6ro<3", []int{1, 2, 6}, "8"},
		"re-roll both ways":                   {"1d6r1ro2", []int{1, 2, 1, 2}, "2"},
		"explode":                             {"2d6!", []int{6, 6, 2, 3}, "17"},
		"explode on":                          {"1d6!>4", []int{5, 6, 1}, "12"},
		"explode at most":                     {"1d6!x1", []int{6, 6}, "12"},
		"explode never":                       {"1d6!x0", []int{6}, "6"},
		"compound":                            {"2d6!!kh1", []int{6, 2, 3}, "8"},
		"penetrate":                           {"1d6!p", []int{6, 6, 3}, "13"},
		"penetrate in one die":                {"2d6!!pkl1", []int{6, 1, 5}, "5"},
		"exploding dice are re-rolled":        {"1d6r1!", []int{6, 1, 2}, "8"},
		"keep among exploded":                 {"2d6!kh1", []int{6, 5, 3}, "6"},
		"re-roll the two lowest":              {"4d6rol2", []int{3, 1, 6, 2, 5, 4}, "18"},
		"re-roll the highest":                 {"4d6roh1", []int{3, 1, 6, 2, 1}, "7"},
		"of equal ones the later is lower":    {"2d6rol1", []int{3, 3, 6}, "9"},
		"re-roll both ends":                   {"3d6rol1roh1", []int{6, 1, 3, 4, 2}, "9"},
		"no die is chosen twice":              {"2d6rol2roh1", []int{6, 1, 4, 2}, "6"},
		"re-roll none of them":                {"2d6rol0", []int{6, 1}, "7"},
		"re-roll more than there are":         {"2d6rol9", []int{6, 1, 2, 2}, "4"},
		"rolled again, then chosen":           {"2d6r1rol1", []int{1, 2, 6, 1, 5}, "11"},
		"chosen before explosions":            {"2d6rol1!", []int{6, 3, 6, 2, 1}, "15"},
		"chosen before dice compound":         {"2d6roh1!!kh1", []int{6, 3, 6, 4}, "10"},
		"a rolled number of them":             {"2d6rol(1d2)", []int{2, 1, 2, 5, 6}, "11"},
		"one more for the highest":            {"3d6eh1", []int{3, 5, 2, 6}, "16"},
		"one more for the lowest":             {"3d6ral1", []int{3, 5, 2, 6}, "16"},
		"one more for each":                   {"2d6rah2", []int{3, 6, 6, 1}, "16"},
		"one more at both ends":               {"2d6eh1el2", []int{3, 6, 1, 1}, "11"},
		"one more after explosions":           {"2d6!eh1", []int{6, 2, 3, 5}, "16"},
		"one more is kept like others":        {"2d6eh1kh1", []int{3, 4, 6}, "6"},
		"one more and unique":                 {"2d6eh1u", []int{3, 5, 5, 5, 2}, "10"},
		"the last explosion holds":            {"2d6!!6!1", []int{6, 1, 1, 2}, "10"},
		"the last bound holds":                {"2d6min5min2", []int{1, 3}, "5"},
		"unique":                              {"3d6u", []int{2, 2, 2, 5, 5, 1}, "8"},
		"unique once":                         {"3d6uo", []int{2, 2, 2, 3, 2}, "7"},
		"unique of a value":                   {"3d6u=1", []int{1, 1, 2, 2}, "5"},
		"min and max":                         {"3d6min2max5", []int{1, 6, 3}, "10"},
		"successes":                           {"4d6>4", []int{5, 6, 4, 1}, "2"},
		"successes and failures":              {"4d6>4f1", []int{5, 6, 1, 1}, "0"},
		"successes among the kept":            {"4d6kh2>4", []int{5, 6, 5, 1}, "2"},
		"a comparison after ! is its own":     {"2d6!>5", []int{6, 1, 2}, "9"},
		"successes after an explosion":        {"2d6! >5", []int{6, 1, 6, 6, 2}, "3"},
		"a comparison":                        {"(2d6+1)>7", []int{3, 4}, "1"},
		"a comparison that fails":             {"(2d6+1)<=7", []int{3, 4}, "0"},
		"rolled counts and sides":             {"(1d4)d(1d6+1)", []int{2, 4, 5, 1}, "6"},
		"no dice":                             {"(1d4-1)d6", []int{1}, "0"},
		"a rolled target":                     {"2d6>(1d6)", []int{2, 2, 3}, "1"},
		"the best of a group":                 {"{2d6, 1d20, 7}kh1", []int{1, 2, 6}, "7"},
		"a group adds up":                     {"(2d6, 1d4)", []int{1, 2, 4}, "7"},
		"successes of a group":                {"{2d6, 1d20}>4f<3", []int{1, 1, 6}, "0"},
		"one part: its dice":                  {"{2d6+1d4+1}kh2", []int{1, 5, 4}, "10"},
		"one part: what was dropped stays so": {"{2d6kh1+1d4}kl1", []int{1, 5, 4}, "4"},
		"one part: successes":                 {"{2d6+1d4+1}>3", []int{1, 5, 4}, "2"},
		"a group in a group":                  {"{{1d6, 1d8}kh1, 3}kl1", []int{1, 5}, "3"},
		"dropped dice are recomputed":         {"{max(2d6, 3)*2+{1d4, 1d4}kl1}kh2", []int{2, 5, 4, 3}, "13"},
		"a usage die":                         {"2ud8kl1", []int{5, 2}, "2"},
		"a pool":                              {"dw5", []int{2, 2, 3, 3, 3}, "3"},
		"a pool without a set":                {"dw5", []int{6, 6, 6, 6, 6}, "0"},
		"danger dice make sets":               {"dw2d2", []int{4, 4, 4, 4}, "4"},
		"penalty dice":                        {"dw3p1", []int{2, 2, 5, 2}, "0"},
		"an empty pool":                       {"dw0p2", nil, "0"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, err := scripted(t, tc.text, tc.faces...)
			if err != nil {
				t.Fatal(err)
			}
			if got := r.Value.String(); got != tc.value {
				t.Errorf("%s of %v = %s, want %s", tc.text, tc.faces, got, tc.value)
			}
		})
	}
}

// history is all that a result tells of a die.
type history struct {
	Sides, Value      int32
	Exploded, Dropped bool
	Why               string
	Success, Critical int8
	Steps             []Step
}

func histories(r *Result) (out []history) {
	for i := range r.Dice {
		d := &r.Dice[i]
		out = append(out, history{
			r.Sides, d.Value, d.Exploded, d.Dropped, r.DroppedBy(d), d.Success, d.Critical, slices.Collect(r.Steps(d)),
		})
	}
	return out
}

func TestEveryDieHasItsHistory(t *testing.T) {
	t.Parallel()
	r, err := scripted(t, "3d6ro1!kh2cs6cfsd", 1, 6, 6, 2, 3, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	// 1 is rolled again to 6, which explodes to 6, which explodes to 2; then 3; then 1, again 1.
	want := []history{
		{Sides: 6, Value: 6, Critical: 1, Steps: []Step{{First, 1, 1}, {Rerolled, 6, 6}}},
		{Sides: 6, Value: 6, Critical: 1, Exploded: true, Steps: []Step{{First, 6, 6}}},
		{Sides: 6, Value: 3, Dropped: true, Why: "kh2", Steps: []Step{{First, 3, 3}}},
		{Sides: 6, Value: 2, Dropped: true, Why: "kh2", Exploded: true, Steps: []Step{{First, 2, 2}}},
		{Sides: 6, Value: 1, Dropped: true, Why: "kh2", Critical: -1, Steps: []Step{{First, 1, 1}, {Rerolled, 1, 1}}},
	}
	if d := cmp.Diff(want, histories(r)); d != "" {
		t.Error(d)
	}
	r, err = scripted(t, "1d6!!pr2", 6, 2, 6, 3)
	if err != nil {
		t.Fatal(err)
	}
	want = []history{{Sides: 6, Value: 13, Steps: []Step{{First, 6, 6}, {Added, 2, 1}, {Rerolled, 6, 5}, {Added, 3, 2}}}}
	if d := cmp.Diff(want, histories(r)); d != "" {
		t.Error(d)
	}
	r, err = scripted(t, "3d6ro1rol1eh2kl4", 5, 1, 2, 5, 1, 3, 4, 1, 6)
	if err != nil {
		t.Fatal(err)
	}
	// 5; 1 again to 2; 5. The lowest, 2, again to 1, which ro1 rolls to 3. Both fives explode, the second to 1, again to 6.
	want = []history{
		{Sides: 6, Value: 5, Steps: []Step{{First, 5, 5}}},
		{Sides: 6, Value: 4, Exploded: true, Steps: []Step{{First, 4, 4}}},
		{Sides: 6, Value: 3, Steps: []Step{{First, 1, 1}, {Rerolled, 2, 2}, {Rerolled, 1, 1}, {Rerolled, 3, 3}}},
		{Sides: 6, Value: 5, Steps: []Step{{First, 5, 5}}},
		{Sides: 6, Value: 6, Dropped: true, Why: "kl4", Exploded: true, Steps: []Step{{First, 1, 1}, {Rerolled, 6, 6}}},
	}
	if d := cmp.Diff(want, histories(r)); d != "" {
		t.Error(d)
	}
	r, err = scripted(t, "{2d6, 1d4}kh1", 3, 3, 4)
	if err != nil {
		t.Fatal(err)
	}
	if p := r.Parts; len(p) != 2 || p[0].Dropped || !p[1].Dropped || p[1].Why() != "kh1" || p[1].Value != Whole(4) {
		t.Errorf("parts %+v", p)
	}
}

func TestRollRefuses(t *testing.T) {
	t.Parallel()
	for text, tc := range map[string]struct {
		faces []int
		code  string
	}{
		"1/(1d6-1)":       {[]int{1}, DivisionByZero},
		"(1d6)^(1d%)":     {[]int{6, 100}, Overflow},
		"2147483647+1d6":  {[]int{1}, Overflow},
		"-2147483647-1d6": {[]int{2}, Overflow},
		"(1d6-3)d6":       {[]int{1}, BadValue},
		"2d(1d6-1)":       {[]int{1}, BadValue},
		"1d6kh(1d6/2)":    {[]int{1}, BadValue},
		"(1d%*1d%)d6":     {[]int{100, 100}, TooMuchWork},
		"1d(1d4)!":        {[]int{1}, Endless},
		"(1d6)d4u":        {[]int{5, 1, 2, 3, 4, 1}, Endless},
		"sqrt(1d6-2)":     {[]int{1}, BadValue},
		"2d4rol(1d6/2)":   {[]int{1}, BadValue},
		"2d2eh(1d2)u":     {[]int{1, 1, 2, 1}, Endless},
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			var r *play.Refusal
			if out, err := scripted(t, text, tc.faces...); !errors.As(err, &r) || r.Code != tc.code {
				t.Errorf("got %v, %v, want %s", out, err, tc.code)
			}
		})
	}
	n, err := Parse("1000d1000000r>1")
	if err != nil {
		t.Fatal(err)
	}
	var r *play.Refusal
	if _, err := n.Roll("test", play.NewDice(func(sides int) (int, error) { return sides, nil })); !errors.As(err, &r) || r.Code != TooMuchWork {
		t.Errorf("a die that is rolled again and again: %v", err)
	}
	boom := errors.New("boom")
	dice := play.NewDice(func(int) (int, error) { return 0, boom })
	if _, err := n.Roll("test", dice); err == nil || !errors.Is(dice.Close(), boom) {
		t.Errorf("dice that fail: %v, %v", err, dice.Close())
	}
}

func TestLargestTotalFits(t *testing.T) {
	t.Parallel()
	n, err := Parse("1000d1000000")
	if err != nil {
		t.Fatal(err)
	}
	r, err := n.Roll("test", play.NewDice(func(sides int) (int, error) { return sides, nil }))
	if err != nil || r.Total() != 1_000_000_000 || r.Total() > math.MaxInt32 {
		t.Errorf("total %v, %v", r, err)
	}
}

// hostile are inputs that a careless parser takes long for.
var hostile = []string{
	strings.Repeat("(", MaxLength), strings.Repeat("{", MaxLength), strings.Repeat("abs(", MaxLength/4), strings.Repeat("d", MaxLength),
	strings.Repeat("-", MaxLength), strings.Repeat("1+", MaxLength/2), strings.Repeat("1d6!", MaxLength/4), strings.Repeat("r<4", MaxLength/3),
	"1d1000000" + strings.Repeat("r<9", 1000), strings.Repeat("1d1000000r>1+", 300), strings.Repeat("/*", MaxLength/2),
	strings.Repeat("//", MaxLength/2), strings.Repeat("[", MaxLength), "1" + strings.Repeat("[a]", 1300), strings.Repeat("9", MaxLength),
	strings.Repeat("1000d1000000u+", 290) + "1", strings.Repeat("2^", MaxLength/2), "d{" + strings.Repeat("1,", 2000), strings.Repeat(" ", MaxLength),
	"1d6" + strings.Repeat(" ", 4000) + "x", strings.Repeat("2d6 /**/", 500), strings.Repeat("(1d6)d", 600), strings.Repeat("\xff", MaxLength),
}

// exprs draws expressions that Parse accepts.
func exprs(t *rapid.T, depth int) *Expr {
	label := func(e *Expr) *Expr {
		if rapid.IntRange(0, 9).Draw(t, "labelled") == 0 {
			e.Label = rapid.StringMatching("[a-z]{1,5}( [a-z]{1,3})?").Draw(t, "label")
		}
		return e
	}
	number := func() *Expr {
		e := &Expr{Kind: Number, Value: Whole(int64(rapid.IntRange(0, 30).Draw(t, "number")))}
		if rapid.IntRange(0, 9).Draw(t, "decimal") == 0 {
			e.Value = fraction(int64(rapid.IntRange(0, 3_000_000).Draw(t, "millionths")), decimals)
		}
		return e
	}
	whole := func(least int) *Expr {
		return &Expr{Kind: Number, Value: Whole(int64(rapid.IntRange(least, 20).Draw(t, "whole")))}
	}
	kind := rapid.IntRange(0, 7).Draw(t, "kind")
	if depth == 0 {
		kind %= 2
	}
	compare := func() *Compare {
		c := &Compare{Op: rapid.SampledFrom([]string{"=", "<>", "<", "<=", ">", ">="}).Draw(t, "op"), To: whole(0)}
		if rapid.Bool().Draw(t, "negative") {
			c.To = &Expr{Kind: Negate, Args: []*Expr{c.To}}
		}
		return c
	}
	switch kind {
	case 0:
		return label(number())
	case 1, 2:
		e := &Expr{Kind: Dice, Count: whole(1), Sides: whole(2), Sort: rapid.SampledFrom([]Sort{Plain, Plain, Fate, FateOne, Custom, Pool}).Draw(t, "sort")}
		switch e.Sort {
		case Pool:
			e.Count, e.Sides = nil, nil
			n := func(name string) int { return rapid.IntRange(0, 9).Draw(t, name) }
			e.Special = &Special{Normal: n("n"), Danger: n("d"), Penalty: n("p")}
			return label(e)
		case Fate, FateOne:
			e.Sides = nil
		case Custom:
			e.Sides, e.Special = nil, &Special{Faces: rapid.SliceOfN(rapid.IntRange(-9, 9), 2, 4).Draw(t, "faces")}
		case Plain, Usage:
		}
		for _, m := range rapid.SliceOfNDistinct(rapid.IntRange(int(Reroll), int(SortUp)), 0, 12, func(k int) int { return k }).Draw(t, "mods") {
			mod := Mod{Kind: ModKind(m)}
			switch mod.Kind {
			case Compound, Penetrate, PenetrateCompound, UniqueOnce, Failure:
				continue // once each, or in need of another
			case KeepIf, DropIf, Success:
				mod.Compare = compare()
			case Min, Max, RerollHigh, RerollLow, ExplodeHigh, ExplodeLow, KeepHigh, KeepLow, DropHigh, DropLow:
				mod.N = whole(0)
			case Explode:
				mod.Kind = rapid.SampledFrom([]ModKind{Explode, Compound, Penetrate, PenetrateCompound}).Draw(t, "explosion")
				mod.Limit = whole(0)
				fallthrough
			case Reroll, RerollOnce, Unique, CritSuccess, CritFailure:
				if rapid.Bool().Draw(t, "compares") {
					mod.Compare = compare()
				}
			case SortUp, SortDown:
			}
			e.Mods = append(e.Mods, mod)
		}
		sortMods(e.Mods)
		if depth > 0 && rapid.IntRange(0, 4).Draw(t, "rolled count") == 0 {
			e.Count = &Expr{Kind: Binary, Op: "+", Args: []*Expr{exprs(t, 0), {Kind: Dice, Count: whole(1), Sides: whole(2)}}}
		}
		return label(e)
	case 3:
		return label(&Expr{Kind: Negate, Args: []*Expr{exprs(t, depth-1)}})
	case 4:
		e := &Expr{Kind: Group}
		for range rapid.IntRange(1, 3).Draw(t, "parts") {
			e.Args = append(e.Args, exprs(t, depth-1))
		}
		if rapid.Bool().Draw(t, "keeps") {
			e.Mods = []Mod{{Kind: KeepHigh, N: whole(0)}}
		}
		return label(e)
	case 5:
		return label(&Expr{Kind: Call, Op: "max", Args: []*Expr{exprs(t, depth-1), exprs(t, depth-1)}})
	}
	op := rapid.SampledFrom([]string{"+", "-", "*", "/", "//", "%", "^", "=", "<>", "<", "<=", ">", ">="}).Draw(t, "op")
	return label(&Expr{Kind: Binary, Op: op, Args: []*Expr{exprs(t, depth-1), exprs(t, depth-1)}})
}

func TestPrintedNotationsParseToThemselves(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := Notation{Expr: exprs(t, rapid.IntRange(0, 4).Draw(t, "depth")), Comment: rapid.StringMatching("([a-z]{1,5}( [a-z*/]{1,3})?)?").Draw(t, "comment")}
		text := n.String()
		again, err := Parse(text)
		var r *play.Refusal
		switch {
		case errors.As(err, &r) && r.Code != BadNotation:
			return // it divides by zero or the like
		case err != nil:
			t.Fatalf("%s: %v", text, err)
		}
		if d := cmp.Diff(n, again, alike); d != "" {
			t.Fatalf("%s: %s", text, d)
		}
		if again.String() != text {
			t.Fatalf("%s is printed as %s", text, again)
		}
	})
}

func TestARollUsesFacesOnlyAndEnds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := Notation{Expr: exprs(t, 3)}
		if n, err := Parse(n.String()); err == nil {
			seed := rapid.Uint64().Draw(t, "seed")
			roll := func() (*Result, error) {
				s := seed
				return n.Roll("x", play.NewDice(func(sides int) (int, error) {
					s = s*6364136223846793005 + 1442695040888963407
					return int(s>>33)%sides + 1, nil
				}))
			}
			a, errA := roll()
			b, errB := roll()
			if fmt.Sprint(errA) != fmt.Sprint(errB) || errA == nil && a.Value != b.Value {
				t.Fatalf("%s: %v, %v and %v, %v", n, a, errA, b, errB)
			}
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, s := range append(slices.Clone(hostile), "2d6+1", "d", "--1", "1d0", "９d６", "{2d6!>4x2, abs(-1d4)}kh1[fire] # c", "(1d4)dFmin-1r<0cs>1", "2ud8kl1//dw5d2p1") {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		n, err := Parse(s)
		if err != nil {
			var r *play.Refusal
			if !errors.As(err, &r) {
				t.Fatalf("%q: %v", s, err)
			}
			return
		}
		again, err := Parse(n.String())
		if err != nil {
			t.Fatalf("parse(print(%q) = %q): %v", s, n, err)
		}
		if d := cmp.Diff(n, again, alike); d != "" {
			t.Errorf("parse(print(%q) = %q): %s", s, n, d)
		}
		i := 0
		_, _ = n.Roll("fuzz", play.NewDice(func(sides int) (int, error) { i++; return i*7%sides + 1, nil }))
	})
}

// ordinary is a plain generator.
func ordinary() func(sides int) (int, error) {
	s := uint64(1)
	return func(sides int) (int, error) {
		s = s*6364136223846793005 + 1442695040888963407
		return int(s>>33)%sides + 1, nil
	}
}

func parseAndRoll(tb testing.TB, text string, dice *play.Dice) {
	tb.Helper()
	n, err := Parse(text)
	if err != nil {
		tb.Fatal(err)
	}
	if _, err := n.Roll("bench", dice); err != nil {
		tb.Fatal(err)
	}
}

// Not parallel: other tests would allocate in between.
func TestFewAllocations(t *testing.T) { //nolint:paralleltest // see above
	for text, want := range map[string]struct {
		allocations float64
		dice        int
	}{
		// One is for the source of the dice.
		"1d20":     {1 + 2, 1},  // the expression; the result with its die
		"4d6kh3+4": {1 + 2, 4},  // the expression; all results with the dice and what dropped them
		"10d6!":    {1 + 3, 12}, // the expression; the result; the dice, seldom more of them than there is room for
		"6":        {1 + 2, 0},
	} {
		next := ordinary()
		record := testing.AllocsPerRun(500, func() { // what the dice take for their record
			dice := play.NewDice(next)
			for range want.dice {
				dice.Roll("bench", 6)
			}
		})
		all := testing.AllocsPerRun(500, func() { parseAndRoll(t, text, play.NewDice(next)) })
		if got := all - record; got > want.allocations {
			t.Errorf("%s: %v allocations, want at most %v", text, got, want.allocations)
		}
	}
}

// The story of a long roll is told whole, although steps of many dice lie between one another.
func TestStepsOfDiceRolledInTurns(t *testing.T) {
	t.Parallel()
	r, err := scripted(t, "3d6roh1u", 2, 5, 2, 2, 4, 2, 6)
	if err != nil {
		t.Fatal(err)
	}
	// 5, the highest, is rolled again to 2; then the second and the third are not unique.
	want := []history{
		{Sides: 6, Value: 2, Steps: []Step{{First, 2, 2}}},
		{Sides: 6, Value: 4, Steps: []Step{{First, 5, 5}, {Rerolled, 2, 2}, {Distinct, 4, 4}}},
		{Sides: 6, Value: 6, Steps: []Step{{First, 2, 2}, {Distinct, 2, 2}, {Distinct, 6, 6}}},
	}
	if d := cmp.Diff(want, histories(r)); d != "" {
		t.Error(d)
	}
	for s := range r.Steps(&r.Dice[1]) {
		if s.Kind != First {
			t.Fatalf("step %v, want only the first one", s)
		}
		break
	}
}

// What a pattern matches among whole numbers is what it matches one by one.
func TestWholesOfPatterns(t *testing.T) {
	t.Parallel()
	bounds := []Value{
		Whole(0), Whole(3), Whole(-3), fraction(5, 2), fraction(-5, 2), fraction(1, 3), Whole(math.MaxInt64), Whole(-math.MaxInt64),
	}
	for _, op := range []string{"=", "<>", "<", "<=", ">", ">="} {
		for _, to := range bounds {
			p := Pattern{op, to}
			w := p.wholes()
			for v := -5; v <= 5; v++ {
				if got, want := w.has(v), p.Matches(v); got != want {
					t.Errorf("%d %s %s: %v, want %v", v, op, to, got, want)
				}
			}
		}
	}
}

func BenchmarkParseAndRoll(b *testing.B) {
	for _, text := range []string{"1d20", "4d6kh3+4", "10d6!"} {
		b.Run(text, func(b *testing.B) {
			b.ReportAllocs()
			next := ordinary()
			for b.Loop() {
				parseAndRoll(b, text, play.NewDice(next))
			}
		})
	}
}
