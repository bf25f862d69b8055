package notify

import (
	"testing"
	"time"
	_ "time/tzdata" // where the tests run may know no zones
)

// Quiet hours are hours of the clock on the wall, over midnight and on the days on which the clocks are changed; whoever waits for their next
// edge, and looks once an hour, is there in time.
func TestHours(t *testing.T) {
	t.Parallel()
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	night, noon := Hours{22 * time.Hour, 7 * time.Hour}, Hours{12 * time.Hour, 13*time.Hour + 30*time.Minute}
	for _, tc := range []struct {
		h    Hours
		at   string
		want bool
	}{
		{night, "2026-11-22T21:59:59", false},
		{night, "2026-11-22T22:00:00", true},
		{night, "2026-11-23T00:00:00", true},
		{night, "2026-11-23T06:59:59", true},
		{night, "2026-11-23T07:00:00", false},
		{noon, "2026-11-22T12:00:00", true},
		{noon, "2026-11-22T13:30:00", false},
		{Hours{}, "2026-11-22T00:00:00", false},
		{Hours{8 * time.Hour, 8 * time.Hour}, "2026-11-22T08:00:00", false},
		{night, "2026-03-29T03:30:00", true}, // the hour from two to three is not there
		{night, "2026-03-29T06:59:59", true},
		{night, "2026-03-29T07:00:00", false},
		{night, "2026-10-25T02:30:00", true}, // and here twice
		{night, "2026-10-25T06:59:59", true},
		{night, "2026-10-25T07:00:00", false},
		{night, "2026-10-25T22:00:00", true},
	} {
		at, err := time.ParseInLocation("2006-01-02T15:04:05", tc.at, zone)
		if err != nil {
			t.Fatal(err)
		}
		if got := tc.h.quiet(at); got != tc.want {
			t.Errorf("%s in %v: quiet %v", tc.at, tc.h, got)
		}
	}
	for _, day := range []string{"2026-03-28", "2026-10-24", "2026-11-22"} {
		from, err := time.ParseInLocation("2006-01-02T15:04:05", day+"T22:00:00", zone)
		if err != nil {
			t.Fatal(err)
		}
		at, looks := from, 0
		for night.quiet(at) && looks < 48 { // as the desk does
			at, looks = at.Add(min(time.Hour, night.next(at))), looks+1
		}
		if h, m, s := at.Clock(); h != 7 || m != 0 || s != 0 {
			t.Errorf("the night of %s ends at %s", day, at)
		}
	}
}
