package ui

import (
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"arbiter/tui/theme"
)

func TestGauge(t *testing.T) {
	t.Parallel()
	ascii, _ := theme.New("dark", theme.Mono, theme.ASCII)
	for _, tc := range []struct {
		n     int
		share float64
		want  string
	}{
		{4, 0, "▱▱▱▱"},
		{4, 0.001, "▰▱▱▱"},
		{4, 0.5, "▰▰▱▱"},
		{4, 0.99, "▰▰▰▱"},
		{4, 1, "▰▰▰▰"},
		{4, 7, "▰▰▰▰"},
		{4, -1, "▱▱▱▱"},
		{1, 0.2, "▱"},
		{0, 1, ""},
	} {
		if got := Gauge(theme.Default(), tc.n, tc.share); got != tc.want {
			t.Errorf("Gauge(%d, %v) = %q, want %q", tc.n, tc.share, got, tc.want)
		}
	}
	if got := Gauge(ascii, 4, 0.5); got != "##.." {
		t.Errorf("in ASCII it is %q, want ##..", got)
	}
}

func TestCountdown(t *testing.T) {
	t.Parallel()
	th := theme.Default()
	start := time.Date(2026, 3, 1, 14, 0, 0, 0, time.UTC)
	c := Countdown{Start: start, Deadline: start.Add(300 * time.Second)}
	redone := c
	redone.Redone = true
	for _, tc := range []struct {
		c    Countdown
		at   time.Duration
		want string
		role theme.Role
	}{
		{c, 0, "▰▰▰▰ 5:00", theme.Text},
		{c, 39 * time.Second, "▰▰▰▱ 4:21", theme.Text},
		{c, 39*time.Second + 600*time.Millisecond, "▰▰▰▱ 4:21", theme.Text},
		{redone, 157 * time.Second, "2× ▰▱▱ 2:23", theme.Text},
		{c, 215 * time.Second, "▰▱▱▱ 1:25", theme.Time},
		{c, 291 * time.Second, "▰▱▱▱ 0:09", theme.Alert},
		{c, 299*time.Second + 999*time.Millisecond, "▰▱▱▱ 0:01", theme.Alert},
		{c, 300 * time.Second, "LATE +0:00", theme.Alert},
		{c, 307*time.Second + 900*time.Millisecond, "LATE +0:07", theme.Alert},
		{c, 3 * time.Hour, "LATE +2:55:00", theme.Alert},
		{c, -time.Hour, "▰▰▰▰ 1:05:00", theme.Text},
	} {
		if got, want := tc.c.Text(th, start.Add(tc.at)), th.S(tc.role, tc.want); got != want {
			t.Errorf("after %v it shows %q as %q, want %q", tc.at, ansi.Strip(got), got, want)
		}
	}
}

func TestClockAndAge(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		-time.Second: "0:00", 0: "0:00", time.Millisecond: "0:01", 61 * time.Second: "1:01", time.Hour: "1:00:00",
	} {
		if got := Clock(d); got != want {
			t.Errorf("Clock(%v) = %q, want %q", d, got, want)
		}
	}
	for d, want := range map[time.Duration]string{
		-time.Hour: "0s", 45 * time.Second: "45s", 22 * time.Minute: "22m", 47 * time.Hour: "47h", 48 * time.Hour: "2d",
		99 * 24 * time.Hour: "99d", 400 * 24 * time.Hour: "57w", 1e9 * time.Second: "999w",
	} {
		if got := Age(d); got != want {
			t.Errorf("Age(%v) = %q, want %q", d, got, want)
		}
	}
}

func TestSpark(t *testing.T) {
	t.Parallel()
	if got := Spark(theme.Default(), 4, []float64{9, 0, 1, 2, 7}); got != "▁▂▃█" {
		t.Errorf("Spark = %q, want the last four scaled to the largest", got)
	}
	if got := Spark(theme.Default(), 3, nil); got != "   " {
		t.Errorf("Spark of nothing = %q", got)
	}
}
