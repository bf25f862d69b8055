package scripted

import "slices"

// part is one piece of the demo's program, with a bug that its test finds, in files of its own so that tasks do not meet.
type part struct {
	name string
	// head are the lines before the one that is wrong, bug is that one, tail what follows.
	head, bug, tail string
	// tests are lines of the part's test, "input => output".
	tests []string
	// right are the good lines, one for each subtask; adds are the test lines that come with them, "" for none.
	right []string
	adds  []string
	// wrong are lines that pass the test and are wrong all the same.
	wrong []string
	// behaviour is the acceptance criterion that the reviewer's probes decide.
	behaviour string
	probes    []probe
	// flaw and advice are what a reviewer writes when a probe fails.
	flaw, advice string
}

// probe is an input of the reviewer's own and the output that it must give. From is the subtask from which on it counts.
type probe struct {
	in, out string
	from    int
}

func (p *part) file() string { return "lib/" + p.name + ".awk" }

func (p *part) test() string { return "tests/" + p.name + ".test" }

// files are what a task about the part may change.
func (p *part) files() []string {
	if slices.ContainsFunc(p.adds, func(s string) bool { return s != "" }) {
		return []string{p.file(), p.test()}
	}
	return []string{p.file()}
}

// known reports whether the line is one of those that the task is about.
func (p *part) known(line string) bool {
	return line == p.bug || slices.Contains(p.right, line) || slices.Contains(p.wrong, line)
}

// parts are the pieces of the demo's program, a till.
var parts = []part{
	{
		name: "total",
		head: "# Prints the sum of a bill in cents. Each line: item,quantity,cents for one.\nBEGIN { FS = \",\" }\n",
		bug:  "{ sum += $3 }", tail: "END { print sum + 0 }\n",
		tests: []string{`bun,1,90 => 90`, `tea,2,150\nbun,1,90 => 390`},
		right: []string{"{ sum += $2 * $3 }"}, behaviour: "A total counts every item as often as it was bought",
		probes: []probe{{in: "tea,0,150", out: "0"}, {in: "tea,10,7\nbun,3,11", out: "103"}},
		flaw:   "the quantity is not counted", advice: "{ sum += $2 * $3 }",
	},
	{
		name: "trim", head: "# Prints each name without the blanks around it.\n", bug: "{ print }",
		tests: []string{`apple => apple`, `  apple => apple`},
		wrong: []string{`{ sub(/^[ \t]+/, ""); print }`}, right: []string{`{ gsub(/^[ \t]+|[ \t]+$/, ""); print }`},
		behaviour: "Blanks and tabs go on both sides of a name, and stay inside it",
		probes:    []probe{{in: "apple  ", out: "apple"}, {in: "\tpear \t", out: "pear"}, {in: "two words", out: "two words"}},
		flaw:      "blanks behind the name stay", advice: `{ gsub(/^[ \t]+|[ \t]+$/, ""); print }`,
	},
	{
		name: "date", head: "# Prints a date like 31.12.2026 as 2026-12-31.\nBEGIN { FS = \".\" }\n", bug: `{ print $1 "-" $2 "-" $3 }`,
		tests: []string{`31.12.2026 => 2026-12-31`}, right: []string{`{ printf "%04d-%02d-%02d\n", $3, $2, $1 }`},
		behaviour: "Days and months of one digit get a zero", probes: []probe{{in: "1.2.2026", out: "2026-02-01"}},
		flaw: "days and months of one digit stay as they are", advice: `{ printf "%04d-%02d-%02d\n", $3, $2, $1 }`,
	},
	{
		name: "cash", head: "# Prints an amount in cents as the till pays it out: rounded to the nearest five.\n", bug: "{ print $1 }",
		tests: []string{`1240 => 1240`, `1241 => 1240`},
		wrong: []string{"{ print int($1 / 5) * 5 }", "{ print $1 - $1 % 5 }", `{ printf "%d\n", 5 * int($1 / 5) }`},
		right: []string{"{ print int(($1 + 2) / 5) * 5 }"}, behaviour: "Amounts are rounded to the nearest five cents, up and down",
		probes: []probe{{in: "1243", out: "1245"}, {in: "1242", out: "1240"}, {in: "1238", out: "1240"}, {in: "0", out: "0"}},
		flaw:   "amounts are only ever rounded down", advice: "round to the nearest: 1243 must give 1245",
	},
	{
		name: "code", head: "# Prints an article code in capitals.\n", bug: "{ print }",
		tests: []string{`ab-12 => AB-12`}, right: []string{"{ print toupper($0) }"}, behaviour: "Codes come out in capitals, digits and signs as they were",
		probes: []probe{{in: "x_9", out: "X_9"}, {in: "AB", out: "AB"}}, flaw: "small letters stay", advice: "{ print toupper($0) }",
	},
	{
		name: "stock", head: "# Prints the items of which fewer than five are left. Each line: item count.\n", bug: "$2 > 5 { print $1 }",
		tests: []string{`tea 3\nbun 9 => tea`}, right: []string{"$2 < 5 { print $1 }"}, behaviour: "An item with five left is not on the list",
		probes: []probe{{in: "tea 5\nbun 4", out: "bun"}}, flaw: "the list is wrong", advice: "$2 < 5 { print $1 }",
	},
	{
		name: "plural", head: "# Prints a number and an item, in the plural where it is due.\n", bug: `{ print $1 " " $2 }`,
		tests: []string{`1 apple => 1 apple`, `2 apple => 2 apples`}, right: []string{`{ print $1 " " $2 ($1 == 1 ? "" : "s") }`},
		behaviour: "Every number but one takes the plural", probes: []probe{{in: "0 bun", out: "0 buns"}, {in: "12 tea", out: "12 teas"}},
		flaw: "the plural is wrong", advice: `{ print $1 " " $2 ($1 == 1 ? "" : "s") }`,
	},
	{
		name: "receipt", head: "# Prints a line of the receipt. Each line: name,price.\nBEGIN { FS = \",\" }\n", bug: `{ print $1 " " $2 }`,
		tests: []string{`tea,1.50 => tea             1.50`},
		right: []string{`{ printf "%-12s%8s\n", $1, $2 }`, `{ printf "%-12.12s%8s\n", $1, $2 }`},
		adds:  []string{"", `strawberry jam and tea,3.20 => strawberry j    3.20`}, behaviour: "The price ends in column 20",
		probes: []probe{
			{in: "bun,0.90", out: "bun             0.90"},
			{in: "twelve chars,12.00", out: "twelve chars   12.00"},
			{in: "a very long name,9.99", out: "a very long     9.99", from: 1},
		},
		flaw: "the price is not in its column", advice: `{ printf "%-12.12s%8s\n", $1, $2 }`,
	},
}

// partOf finds a part, nil when there is none.
func partOf(name string) *part {
	for i := range parts {
		if parts[i].name == name {
			return &parts[i]
		}
	}
	return nil
}
