// Package repeat makes property tests the same every time: what fails once fails again, and nothing fails by chance.
package repeat

import (
	"flag"
	"strconv"
)

// Properties sets how rapid draws in the tests of a package, whose init calls it: from which seed, and how many checks it makes
// of a property, 0 for its own number. Who names others on the command line gets those. Files of failures are not written,
// since the seed repeats them.
func Properties(seed uint64, checks int) {
	set("rapid.seed", strconv.FormatUint(seed, 10))
	set("rapid.nofailfile", "true")
	if checks > 0 {
		set("rapid.checks", strconv.Itoa(checks))
	}
}

func set(name, value string) {
	if err := flag.Set(name, value); err != nil {
		panic(err) // a package that does not use rapid
	}
}
