package sandbox

import (
	"slices"
	"testing"
)

func TestEnviron(t *testing.T) {
	t.Parallel()
	parent := []string{
		"PATH=/bin", "LANG=de_DE.UTF-8", "LC_TIME=C", "HOME=/root", "TERM=xterm", "SHELL=/bin/sh", "EDITOR=vi",
		"OPENAI_API_KEY=1", "GITHUB_TOKEN=2", "MY_SECRET=3", "DB_PASSWORD=4", "LC_TOKEN=5", "GO_KEYRING=6", "GOFLAGS=-mod=mod",
		"GOAUTH=7", "EXACT_TOKEN=8", "odd",
	}
	for name, tc := range map[string]struct {
		spec Spec
		want []string
	}{
		"allow-list": {
			spec: Spec{Home: "/h", Turn: "t1"},
			want: []string{"ARBITER_TURN=t1", "HOME=/h", "LANG=de_DE.UTF-8", "LC_TIME=C", "PATH=/bin", "TERM=dumb", "TMPDIR=/h/tmp"},
		},
		"explicit": {
			spec: Spec{
				Home: "/h", Turn: "t1", Env: []string{"X_KEY=yes", "PATH=/usr/bin", "PATH=/opt", "odd", "=x", "ARBITER_TURN=no"},
				Pass: []string{"GO*", "EXACT_TOKEN", "*"},
			},
			want: []string{
				"ARBITER_TURN=t1", "EXACT_TOKEN=8", "GOFLAGS=-mod=mod", "HOME=/h", "LANG=de_DE.UTF-8", "LC_TIME=C",
				"PATH=/opt", "TERM=dumb", "TMPDIR=/h/tmp", "X_KEY=yes",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := environ(&tc.spec, parent)
			slices.Sort(got)
			if !slices.Equal(got, tc.want) {
				t.Errorf("environment\n got %q\nwant %q", got, tc.want)
			}
		})
	}
}

func TestEnviron_nested(t *testing.T) {
	t.Parallel()
	got := environ(&Spec{Home: "/h", Turn: "inner"}, []string{"ARBITER_TURN=outer"})
	if !slices.Contains(got, "ARBITER_TURN=outer:inner") || !slices.Contains(got, "LANG=C.UTF-8") {
		t.Errorf("environment = %q", got)
	}
	for turn, want := range map[string]bool{"outer": true, "inner": true, "out": false, "": false, "outer:inner": false} {
		if marked("outer:inner", turn) != want {
			t.Errorf("marked by %q = %v, want %v", turn, !want, want)
		}
	}
}
