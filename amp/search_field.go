package amp

import (
	"slices"
	"strings"
	"time"
)

// SearchField is a field of the language of [ParseSearch], for completion and for documents.
type SearchField struct {
	// Name stands before the colon.
	Name string
	// Takes says in a few words what stands after it.
	Takes string
	// Values are all that it takes, empty when they are not fixed.
	Values []string
	// About says what it selects.
	About string

	set func(p *searchParser, f *Filter, s *Search, value string) string
}

// SearchFields are the fields of a search, in the order of their use.
func SearchFields() []SearchField { return slices.Clone(searchFields) }

func fixed[T ~string](name, takes, about string, to func(*Search) *[]T, values ...T) SearchField {
	words := make([]string, len(values))
	for i, v := range values {
		words[i] = string(v)
	}
	return SearchField{
		Name: name, Takes: takes, Values: words, About: about,
		set: func(_ *searchParser, _ *Filter, s *Search, value string) string {
			i := slices.IndexFunc(words, func(w string) bool { return strings.EqualFold(w, value) })
			if i < 0 {
				return quoted(value) + " is no " + name + suggest(value, words, "") + "; it is one of " + strings.Join(words, ", ")
			}
			add(to(s), values[i])
			return ""
		},
	}
}

func open[T ~string](name, takes, about string, to func(*Search) *[]T) SearchField {
	return SearchField{
		Name: name, Takes: takes, About: about,
		set: func(_ *searchParser, _ *Filter, s *Search, value string) string {
			add(to(s), T(value))
			return ""
		},
	}
}

func add[T comparable](to *[]T, v T) {
	if !slices.Contains(*to, v) {
		*to = append(*to, v)
	}
}

var searchFields = []SearchField{
	fixed("kind", "a kind of entry", "entries of this kind", func(s *Search) *[]Kind { return &s.Kinds },
		KindMessage, KindAck, KindCommand, KindPlan, KindTurn, KindQuestion, KindCheck, KindRefusal, KindChain, KindBus,
		KindOutside),
	fixed("type", "a type of message", "messages of this type, and refused ones", func(s *Search) *[]MessageType { return &s.Types },
		TaskDispatch, TaskResult, ReviewRequest, ReviewVerdict, EscalationMsg),
	open("from", "a role or a name", "who wrote the entry", func(s *Search) *[]string { return &s.From }),
	fixed("to", "a role", "messages for this role", func(s *Search) *[]Role { return &s.To },
		Admin, Coordinator, Executor, Reviewer),
	open("agent", "a name", "entries of this agent: its messages, turns, questions, and plans that name it",
		func(s *Search) *[]string { return &s.Agents }),
	fixed("role", "a role", "entries in the name of this role", func(s *Search) *[]Role { return &s.Roles },
		Admin, Coordinator, Executor, Reviewer, System),
	{Name: "task", Takes: "an id such as T-2026-044", About: "entries of this task", set: setTask},
	fixed("status", "a status", "of a result, an ACK, an ended turn, or the task when an escalation was raised",
		func(s *Search) *[]string { return &s.Statuses },
		string(Complete), string(Partial), string(Failed), string(AckAccepted), string(AckRefused), string(TurnOK),
		string(TurnInvalid), string(TurnKilled), string(TurnTimeout), string(TurnLost), string(Drafting), string(AwaitingApproval),
		string(Dispatched), string(Executing), string(Verifying), string(Reviewing), string(Held), string(Suspended),
		string(Locked), string(StatusApproved), string(Delivered), string(Terminated)),
	fixed("decision", "a decision", "verdicts that say so, and overrides", func(s *Search) *[]Decision { return &s.Decisions },
		Approved, ApprovedWithFix, Rejected),
	fixed("severity", "a severity", "escalations of this severity, and verdicts with such an issue",
		func(s *Search) *[]string { return &s.Severities },
		string(Critical), string(Warning), string(Info), string(IssueMajor), string(IssueMinor)),
	open("rule", "a rule such as AMP-012", "what was refused by this rule", func(s *Search) *[]string { return &s.Rules }),
	{Name: "since", Takes: moments, About: "entries written then or later", set: func(p *searchParser, _ *Filter, s *Search, value string) string {
		return p.moment(&s.Since, value, false)
	}},
	{Name: "until", Takes: moments, About: "entries written before; of a day, up to its end", set: func(p *searchParser, _ *Filter, s *Search, value string) string {
		return p.moment(&s.Until, value, true)
	}},
	{Name: "seq", Takes: "an entry or a range such as 18000..18140", About: "entries by their number", set: setSeq},
	fixed("is", "a property", "held: it waits for the admin; late: an ACK or report after its time; refused: by the coordinator or by an ACK",
		func(s *Search) *[]SearchProperty { return &s.Is }, IsHeld, IsLate, IsRefused),
}

func searchField(name string) *SearchField {
	i := slices.IndexFunc(searchFields, func(f SearchField) bool { return f.Name == name })
	if i < 0 {
		return nil
	}
	return &searchFields[i]
}

// suggest is ", did you mean …" when one of the words is near to what was typed.
func suggest(typed string, words []string, colon string) string {
	typed = strings.ToLower(typed)
	best, least := "", 3
	for _, w := range words {
		d := edits(typed, w)
		if len(typed) > 1 && strings.HasPrefix(w, typed) {
			d = min(d, 1)
		}
		if d < least && d < len(w) && d < len(typed) {
			best, least = w, d
		}
	}
	if best == "" {
		return ""
	}
	return `, did you mean "` + best + colon + `"?`
}

// edits is how many characters are to be inserted, removed or replaced to make b of a.
func edits(a, b string) int {
	if len(a) > 40 {
		return len(a)
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := before
			if a[i] != b[j] {
				cost++
			}
			before = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

const moments = "an age such as 7d or 12h, a day such as 2026-02-26, or a time in RFC 3339"

// moment reads a moment; of a day the begin, or with end the begin of the next one.
func (p *searchParser) moment(to *time.Time, value string, end bool) string {
	if !to.IsZero() {
		return "it can stand only once"
	}
	if t, ok := p.day(value); ok {
		if end {
			t = t.AddDate(0, 0, 1)
		}
		*to = t
		return ""
	}
	if t, err := time.Parse(time.RFC3339Nano, value); err == nil {
		*to = t
		return ""
	}
	if age, ok := parseAge(value); ok {
		*to = p.now.Add(-age)
		return ""
	}
	return quoted(value) + " is no moment; it is " + moments
}

func (p *searchParser) day(value string) (time.Time, bool) {
	year, month, day := p.now.Date()
	switch strings.ToLower(value) {
	case "today":
		return time.Date(year, month, day, 0, 0, 0, 0, p.now.Location()), true
	case "yesterday":
		return time.Date(year, month, day-1, 0, 0, 0, 0, p.now.Location()), true
	}
	t, err := time.ParseInLocation(time.DateOnly, value, p.now.Location())
	return t, err == nil
}

// parseAge reads a number and a unit: m, h, d or w.
func parseAge(value string) (time.Duration, bool) {
	if value == "" {
		return 0, false
	}
	unit := map[byte]time.Duration{'m': time.Minute, 'h': time.Hour, 'd': 24 * time.Hour, 'w': 7 * 24 * time.Hour}[value[len(value)-1]]
	n, ok := parseNumber(value[:len(value)-1])
	if !ok || unit == 0 || n > 100_000 {
		return 0, false
	}
	return time.Duration(n) * unit, true
}

// parseNumber reads decimal digits and nothing else.
func parseNumber(s string) (n uint64, ok bool) {
	if s == "" || len(s) > 18 {
		return 0, false
	}
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
		n = 10*n + uint64(s[i]-'0')
	}
	return n, true
}

func setTask(_ *searchParser, _ *Filter, s *Search, value string) string {
	return setTaskID(&s.Tasks, value)
}

func setTaskID(to *[]TaskID, value string) string {
	id := TaskID(strings.ToUpper(value))
	if !id.Valid() {
		return quoted(value) + " is no task; it is an id such as T-2026-044"
	}
	add(to, id)
	return ""
}

func setSeq(_ *searchParser, f *Filter, _ *Search, value string) string {
	low, high, isRange := strings.Cut(value, "..")
	from, ok := parseNumber(strings.TrimPrefix(low, "#"))
	to := from
	if isRange {
		if low == "" && high != "" {
			from, ok = 1, true
		}
		if to = 0; high != "" {
			var fine bool
			to, fine = parseNumber(strings.TrimPrefix(high, "#"))
			ok = ok && fine
		}
	}
	switch {
	case !ok || from == 0 || high != "" && to < from || value == "..":
		return quoted(value) + " is no entry; it is a number, or a range such as 18000..18140, 18000.. or ..18140"
	case f.After != 0 || f.Before != 0:
		return "it can stand only once"
	}
	f.After = from - 1
	if to != 0 {
		f.Before = to + 1
	}
	if f.After == 0 && f.Before == 0 { // 1.. is everything
		f.Before = 1 << 62
	}
	return ""
}
