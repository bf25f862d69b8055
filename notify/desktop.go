package notify

import (
	"context"
	"fmt"
	"os/exec"
	"runtime"
	"strings"
	"time"
)

// DesktopFunc shows one notification on the desktop of who runs the coordinator.
type DesktopFunc func(ctx context.Context, title, body string, critical bool) error

// desktop are the lines that are to be shown there. They are the least of the channels: one that fails is not tried again.
type desktop struct {
	lines    []string
	more     int
	critical bool
	busy     bool
}

func (k *desktop) add(line string, critical bool) {
	k.critical = k.critical || critical
	if len(k.lines) == 3 {
		k.more++
		return
	}
	k.lines = append(k.lines, line)
}

// pop shows what came since the last one.
func (d *desk) pop(time.Time) {
	k := &d.desktop
	if d.cfg.Desktop == nil || k.busy || len(k.lines) == 0 {
		return
	}
	if k.more > 0 {
		k.lines = append(k.lines, fmt.Sprintf("and %d more", k.more))
	}
	body, critical := strings.Join(k.lines, "\n"), k.critical
	*k = desktop{busy: true}
	d.wg.Go(func() {
		ctx, cancel := context.WithTimeout(d.ctx, 10*time.Second)
		defer cancel()
		err := d.cfg.Desktop(ctx, "arbiter needs you", body, critical)
		select {
		case d.sent <- func(now time.Time) {
			d.desktop.busy = false
			d.cfg.Tally.came(desktopChannel, err, now)
			if err != nil {
				d.cfg.Logger.Warn("the desktop shows nothing", "err", err)
			}
		}:
		case <-d.ctx.Done():
		}
	})
}

// FindDesktop is the program of this system that shows notifications, nil when there is none. What it is given are words of Arbiter's own.
func FindDesktop() DesktopFunc {
	if runtime.GOOS == "darwin" {
		path, err := exec.LookPath("osascript")
		if err != nil {
			return nil
		}
		return func(ctx context.Context, title, body string, _ bool) error {
			script := "on run argv\ndisplay notification (item 2 of argv) with title (item 1 of argv)\nend run"
			return exec.CommandContext(ctx, path, "-e", script, title, body).Run()
		}
	}
	path, err := exec.LookPath("notify-send")
	if err != nil {
		return nil
	}
	return func(ctx context.Context, title, body string, critical bool) error {
		urgency := map[bool]string{true: "critical", false: "normal"}[critical]
		return exec.CommandContext(ctx, path, "--app-name=arbiter", "--urgency="+urgency, "--", title, body).Run()
	}
}
