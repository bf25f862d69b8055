package notify

import (
	"context"
	"errors"
	"net/http"
	"time"
)

// incoming is an update on its way to the desk. The poller waits for reply before it takes the next one, so an update is confirmed to
// Telegram only when what it did is in the journal and in the state; one that is not confirmed comes again after a restart.
type incoming struct {
	update update
	// last says that it is not taken once more, whatever becomes of it.
	last  bool
	reply chan answer
}

// answer is what a pressed button is answered.
type answer struct {
	// callback is the press, empty when there is nothing to answer.
	callback, words string
	// again says that the update is to be taken once more: what it wants could not be decided now.
	again bool
}

// from is the first update to ask for.
func (d *desk) from(now time.Time) int64 {
	if now.Sub(d.state.At) > offsetTime {
		return 0
	}
	return d.state.Offset
}

// poll takes what comes over Telegram until ctx ends.
func (d *desk) poll(ctx context.Context, offset int64) {
	pause := troubleMin
	for ctx.Err() == nil {
		got, err := d.bot.updates(ctx, offset)
		if err != nil {
			if ctx.Err() != nil || !wait(ctx, d.pause(err, &pause)) {
				return
			}
			continue
		}
		pause = troubleMin
		for i := range got {
			if !d.hand(ctx, got[i]) {
				return
			}
			if got[i].ID >= offset {
				offset = got[i].ID + 1
			}
		}
	}
}

// pause is how long to wait after a trouble.
func (d *desk) pause(err error, pause *time.Duration) time.Duration {
	now := *pause
	*pause = min(2**pause, troubleMax)
	e, ok := errors.AsType[*apiError](err)
	switch {
	case ok && e.After > 0:
		now = e.After
	case ok && e.Code == http.StatusConflict:
		d.cfg.Logger.Error("another program reads the updates of this bot: give each coordinator a bot of its own", "err", err)
		return max(now, 10*time.Second)
	case ok && (e.Code == http.StatusUnauthorized || e.Code == http.StatusNotFound):
		d.cfg.Logger.Error("telegram does not know the token: arbiter doctor --try tries it", "err", err)
		return troubleMax
	}
	d.cfg.Logger.Warn("telegram is not reached; presses wait there", "err", err, "again_in", now)
	return now
}

// handTries is the pause after which an update is given up that cannot be decided: others wait behind it.
const handTries = 16 * troubleMin

// hand gives one update to the desk until it was taken, and answers its press. It reports whether ctx still runs.
func (d *desk) hand(ctx context.Context, u update) bool {
	for pause := troubleMin; ; pause *= 2 {
		in := incoming{u, pause >= handTries, make(chan answer, 1)}
		select {
		case d.inbox <- in:
		case <-ctx.Done():
			return false
		}
		var a answer
		select {
		case a = <-in.reply:
		case <-ctx.Done():
			return false
		}
		if a.again {
			if !wait(ctx, pause) {
				return false
			}
			continue
		}
		if a.callback != "" {
			if err := d.bot.answer(ctx, a.callback, a.words); err != nil { // too old, or an outage: the message itself says what became of it
				d.cfg.Logger.Debug("a press is not answered", "err", err)
			}
		}
		return ctx.Err() == nil
	}
}
