package ui

import (
	"strconv"
	"strings"
	"time"

	"arbiter/tui/theme"
)

// Gauge returns n cells of which the share (0 to 1) is full: "▰▰▰▱▱". Any share above 0 shows at least one full
// cell, any below 1 at least one empty one.
func Gauge(th *theme.Theme, n int, share float64) string {
	return string(appendGauge(nil, th, n, share))
}

func appendGauge(b []byte, th *theme.Theme, n int, share float64) []byte {
	full := min(max(int(share*float64(n)+0.5), 0), n)
	if n > 1 {
		if share > 0 && full == 0 {
			full = 1
		}
		if share < 1 && full == n {
			full = n - 1
		}
	}
	for i := range n {
		if i < full {
			b = append(b, th.Signs.Full...)
		} else {
			b = append(b, th.Signs.Empty...)
		}
	}
	return b
}

// Clock returns a duration as m:ss or h:mm:ss, rounded up to the second so that 0:00 means over. It is never
// negative: what is past is "0:00", and [Late] says by how much.
func Clock(d time.Duration) string {
	return string(appendClock(nil, d))
}

func appendClock(b []byte, d time.Duration) []byte {
	s := int64((max(d, 0) + time.Second - 1) / time.Second)
	if s >= 3600 {
		b = append(strconv.AppendInt(b, s/3600, 10), ':')
		b = append(b, byte('0'+s/600%6))
	} else if s >= 600 {
		b = append(b, byte('0'+s/600))
	}
	return append(b, byte('0'+s/60%10), ':', byte('0'+s%60/10), byte('0'+s%10))
}

// Late returns "LATE +0:07" for what is d past its deadline.
func Late(d time.Duration) string {
	return "LATE +" + Clock(max(d, 0).Truncate(time.Second))
}

// Age returns how long ago something was, in at most four cells: "45s", "22m", "3h", "12d", "99w". What lies in
// the future is "0s".
func Age(d time.Duration) string {
	d = max(d, 0)
	switch {
	case d < time.Minute:
		return ages[0][d/time.Second]
	case d < time.Hour:
		return ages[1][d/time.Minute]
	case d < 48*time.Hour:
		return ages[2][d/time.Hour]
	case d < 100*24*time.Hour:
		return ages[3][d/(24*time.Hour)]
	}
	weeks := min(int(d/(7*24*time.Hour)), 999)
	if weeks < len(ages[4]) {
		return ages[4][weeks]
	}
	return strconv.Itoa(weeks) + "w"
}

// ages are the texts of [Age], made once: a frame shows dozens of them.
var ages = func() (t [5][100]string) {
	for u, unit := range []string{"s", "m", "h", "d", "w"} {
		for n := range t[u] {
			t[u][n] = strconv.Itoa(n) + unit
		}
	}
	return t
}()

// Countdown is a deadline as a screen shows it.
type Countdown struct {
	Start     time.Time // when the time began to run
	Deadline  time.Time
	Redone    bool // the one redelivery at half of the time has happened
	BarCells  int  // cells of the bar, 0 means 4; one less with the redelivery sign
	LastRound bool // bold and amber whatever is left
}

// Text returns the countdown at a moment, as "▰▰▰▱ 4:21", "2× ▰▱▱ 2:23" or "LATE +0:07": amber under 30 % of the
// time, bold under ten seconds. It has no fixed width; draw it in a slot.
func (c Countdown) Text(th *theme.Theme, now time.Time) string {
	left := c.Deadline.Sub(now)
	if left <= 0 {
		return th.S(theme.Alert, Late(-left))
	}
	total := c.Deadline.Sub(c.Start)
	share := 1.0
	if total > 0 {
		share = min(float64(left)/float64(total), 1)
	}
	cells := c.BarCells
	if cells == 0 {
		cells = 4
	}
	role := theme.Text
	switch {
	case left < 10*time.Second || c.LastRound:
		role = theme.Alert
	case share < 0.3:
		role = theme.Time
	}
	var room [96]byte
	b := append(room[:0], th.On(role)...)
	if c.Redone {
		b = append(b, "2× "...)
		cells--
	}
	b = appendGauge(b, th, cells, share)
	b = append(b, ' ')
	b = appendClock(b, left)
	if th.On(role) != "" {
		b = append(b, theme.Reset...)
	}
	return string(b)
}

// Spark returns values as a line of one cell each, scaled to the largest; the last n when there are more than n.
func Spark(th *theme.Theme, n int, values []float64) string {
	if len(values) > n {
		values = values[len(values)-n:]
	}
	top := 0.0
	for _, v := range values {
		top = max(top, v)
	}
	signs := th.Signs.Spark()
	var out strings.Builder
	for _, v := range values {
		i := 0
		if top > 0 {
			i = min(max(int(v/top*float64(len(signs)-1)+0.5), 0), len(signs)-1)
		}
		out.WriteString(signs[i])
	}
	return Pad(out.String(), n)
}
