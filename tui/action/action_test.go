package action

import (
	"slices"
	"strings"
	"testing"
)

func table(t *testing.T) *Registry {
	t.Helper()
	r := NewRegistry()
	why := ""
	err := r.Add(
		Action{ID: "plan.approve", Scope: "plan", Title: "approve…", Keys: []string{"A"}, Danger: High, Rank: 1, Disabled: func() string { return why }},
		Action{ID: "plan.diff", Scope: "plan", Title: "what changed r3→r4", Short: "changes", Keys: []string{"d"}, Rank: 2},
		Action{ID: "plan.next", Scope: "plan", Title: "next unread", Keys: []string{"n"}, Rank: 3},
		Action{ID: "go.top", Scope: Global, Title: "top", Keys: []string{"g g", "home"}},
		Action{ID: "go.inbox", Scope: Global, Title: "inbox", Keys: []string{"g i"}},
		Action{ID: "move.down", Scope: Global, Title: "down", Keys: []string{"j", "down"}, Rank: 9},
		Action{ID: "mark", Scope: "plan", Title: "mark read", Keys: []string{" "}, Rank: 5},
		Action{ID: "app.new", Scope: Global, Title: "new task", Keys: []string{"n"}, Rank: 4},
		Action{ID: "app.quit", Scope: Global, Title: "quit", Keys: []string{"q", "ctrl+c"}, Rank: 8},
		Action{ID: "only.palette", Scope: Global, Title: "export", Rank: 7},
	)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestAdd_refuses(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		a    Action
		want string
	}{
		"same id":              {Action{ID: "plan.diff", Scope: "x", Title: "x"}, "id is taken"},
		"no title":             {Action{ID: "x", Scope: "x"}, "title"},
		"same key, same scope": {Action{ID: "x", Scope: "plan", Title: "x", Keys: []string{"d"}}, `taken by "plan.diff"`},
		"begins a sequence":    {Action{ID: "x", Scope: "plan", Title: "x", Keys: []string{"g"}}, `taken by "go.top"`},
		"is begun":             {Action{ID: "x", Scope: Global, Title: "x", Keys: []string{"j j"}}, `taken by "move.down"`},
		"decision by enter":    {Action{ID: "x", Scope: "x", Title: "x", Keys: []string{"enter"}, Danger: Low}, "capital"},
		"decision by y":        {Action{ID: "x", Scope: "x", Title: "x", Keys: []string{"y"}, Danger: High}, "capital"},
		"decision by space":    {Action{ID: "x", Scope: "x", Title: "x", Keys: []string{" "}, Danger: Low}, "capital"},
		"decision by ctrl+A":   {Action{ID: "x", Scope: "x", Title: "x", Keys: []string{"ctrl+a"}, Danger: Low}, "capital"},
		"ctrl+c":               {Action{ID: "x", Scope: "x", Title: "x", Keys: []string{"ctrl+c"}}, "leaves the program"},
		"empty key":            {Action{ID: "x", Scope: "x", Title: "x", Keys: []string{""}}, "empty"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := table(t)
			n := len(r.In(r.Scopes()...))
			err := r.Add(tc.a)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("Add = %v, want %q", err, tc.want)
			}
			if len(r.In(r.Scopes()...)) != n {
				t.Error("a refused action is kept")
			}
		})
	}
}

func TestPress(t *testing.T) {
	t.Parallel()
	res := NewResolver(table(t))
	press := func(key string) Result { return res.Press(key, "plan", Global) }
	if got := press("A"); got.Action == nil || got.Action.ID != "plan.approve" || got.Why != "" {
		t.Errorf("A = %+v", got)
	}
	if got := press("n"); got.Action == nil || got.Action.ID != "plan.next" {
		t.Errorf("n should be the inner one, it is %+v", got)
	}
	if got := res.Press("n", Global); got.Action == nil || got.Action.ID != "app.new" {
		t.Errorf("n outside is %+v", got)
	}
	if got := press(" "); got.Action == nil || got.Action.ID != "mark" {
		t.Errorf("a blank is %+v", got)
	}
	if got := press("x"); got.Unknown != "x" {
		t.Errorf("x = %+v, want unknown", got)
	}
}

// A screen may use a key of all screens, but nothing harmless stands where a finger expects a decision, in whatever order the
// two are registered.
func TestAdd_hidesNoDecision(t *testing.T) {
	t.Parallel()
	deliver := Action{ID: "deliver", Scope: Global, Title: "deliver…", Keys: []string{"M"}, Danger: High}
	seen := Action{ID: "all_seen", Scope: "errors", Title: "all seen", Keys: []string{"M"}}
	approve := Action{ID: "batch", Scope: "plans", Title: "approve these…", Keys: []string{"M"}, Danger: Low}
	if err := NewRegistry().Add(deliver, seen); err == nil {
		t.Error("a harmless key hides a decision")
	}
	if err := NewRegistry().Add(seen, deliver); err == nil {
		t.Error("a decision is hidden by a harmless key that was there before")
	}
	if err := NewRegistry().Add(deliver, approve); err != nil {
		t.Errorf("a decision of a screen in the place of one of all screens: %v", err)
	}
}

func TestPress_sequences(t *testing.T) {
	t.Parallel()
	res := NewResolver(table(t))
	press := func(key string) Result { return res.Press(key, "plan", Global) }
	got := press("g")
	if len(got.Pending) != 2 || res.Begun() != "g" {
		t.Fatalf("g = %+v, want two that may follow", got)
	}
	if got := press("i"); got.Action == nil || got.Action.ID != "go.inbox" || res.Begun() != "" {
		t.Errorf("g i = %+v", got)
	}
	press("g")
	if got := press("x"); got.Unknown != "g x" || res.Begun() != "" {
		t.Errorf("g x = %+v", got)
	}
	press("g")
	if got := press("esc"); got.Action != nil || got.Unknown != "" || res.Begun() != "" {
		t.Errorf("esc in a sequence = %+v, want that it leaves it and nothing else", got)
	}
	press("g")
	res.Reset()
	if got := press("j"); got.Action == nil || got.Action.ID != "move.down" {
		t.Errorf("j after a reset = %+v", got)
	}
}

func TestReadOnly(t *testing.T) {
	t.Parallel()
	r := table(t)
	r.ReadOnly("read-only mode, ! ends it")
	res := NewResolver(r)
	if got := res.Press("A", "plan", Global); got.Action == nil || got.Why != "read-only mode, ! ends it" {
		t.Errorf("a decision in read-only mode = %+v", got)
	}
	if got := res.Press("d", "plan", Global); got.Why != "" {
		t.Errorf("looking is off too: %q", got.Why)
	}
	r.ReadOnly("")
	if why := r.Why("plan.approve"); why != "" {
		t.Errorf("after it the decision is off: %q", why)
	}
}

func TestFooter(t *testing.T) {
	t.Parallel()
	r := table(t)
	ids := func(n int) (out []string) {
		for _, h := range r.Footer(n, "plan", Global) {
			out = append(out, h.Key+" "+h.Text)
		}
		return out
	}
	if got, want := ids(8), []string{"A approve…", "d changes", "n next unread", "space mark read", "q quit", "j down"}; !slices.Equal(got, want) {
		t.Errorf("footer = %v, want %v", got, want)
	}
	if got := ids(2); len(got) != 2 {
		t.Errorf("two hints wanted, got %v", got)
	}
	r.ReadOnly("ro")
	if got := ids(1); got[0] != "d changes" {
		t.Errorf("an action that is off is in the footer: %v", got)
	}
}

func TestOverride(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		keys map[string][]string
		want []string // parts of the problems
		then map[string]string
	}{
		"one":            {map[string][]string{"plan.diff": {"c"}}, nil, map[string]string{"c": "plan.diff", "d": ""}},
		"change places":  {map[string][]string{"plan.diff": {"n"}, "plan.next": {"d"}}, nil, map[string]string{"n": "plan.diff", "d": "plan.next"}},
		"off":            {map[string][]string{"plan.diff": {}}, nil, map[string]string{"d": ""}},
		"unknown":        {map[string][]string{"plan.dif": {"c"}, "x.approve": {"B"}}, []string{`"plan.dif": there is no such action`, `did you mean "plan.approve"`}, nil},
		"taken":          {map[string][]string{"plan.diff": {"n"}}, []string{`key "n" of "plan.diff": taken by "plan.next"`}, map[string]string{"d": "plan.diff", "n": "plan.next"}},
		"decision":       {map[string][]string{"plan.approve": {"enter"}}, []string{"capital"}, map[string]string{"A": "plan.approve", "enter": ""}},
		"sequence":       {map[string][]string{"plan.diff": {"g"}}, []string{"taken by"}, map[string]string{"d": "plan.diff"}},
		"hides a global": {map[string][]string{"plan.diff": {"q"}}, nil, map[string]string{"q": "plan.diff"}},
		"two want one":   {map[string][]string{"plan.diff": {"z"}, "plan.next": {"z"}}, []string{"taken by"}, map[string]string{"z": "plan.next", "d": "plan.diff"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := table(t)
			problems := r.Override(tc.keys)
			if len(problems) != len(tc.want) {
				t.Fatalf("problems = %v, want %d", problems, len(tc.want))
			}
			for i, p := range problems {
				if !strings.Contains(p.Error(), tc.want[i]) {
					t.Errorf("problem %d = %q, want %q", i, p.Error(), tc.want[i])
				}
			}
			for key, id := range tc.then {
				got := NewResolver(r).Press(key, "plan", Global)
				if id == "" && got.Action != nil || id != "" && (got.Action == nil || got.Action.ID != id) {
					t.Errorf("%s now is %+v, want %q", key, got.Action, id)
				}
			}
		})
	}
}

func TestDump(t *testing.T) {
	t.Parallel()
	text := table(t).Dump()
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if len(lines) != 11 || !strings.HasPrefix(lines[0], "SCOPE") {
		t.Fatalf("the table has %d lines:\n%s", len(lines), text)
	}
	if got, want := strings.Join(strings.Fields(lines[1]), " "), "plan A plan.approve high approve…"; got != want {
		t.Errorf("line = %q, want %q", got, want)
	}
	if !strings.Contains(text, "space") || !strings.Contains(text, "g g, home") {
		t.Errorf("keys are missing:\n%s", text)
	}
}

func TestDisplay(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{"enter": "↵", "g g": "g g", "up": "↑", "ctrl+d": "ctrl+d"} {
		if got := Display(in, false); got != want {
			t.Errorf("Display(%q) = %q, want %q", in, got, want)
		}
		if got := Display(in, true); got != in {
			t.Errorf("in ASCII %q is %q", in, got)
		}
	}
}

func TestNormal(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{" ": "space", "j": "j", "g g": "g g", " g  g ": "g g", "space": "space"} {
		if got := Normal(in); got != want {
			t.Errorf("Normal(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestNearest(t *testing.T) {
	t.Parallel()
	known := []string{"acks", "argv", "env", "kind", "vendor"}
	for word, want := range map[string]string{"arg": "argv", "arvg": "argv", "vendr": "vendor", "ack": "acks", "colour": "", "": "env"} {
		if got := Nearest(word, known); got != want && word != "" {
			t.Errorf("Nearest(%q) = %q, want %q", word, got, want)
		}
	}
}
