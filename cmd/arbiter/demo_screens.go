package main

import (
	"context"
	"errors"
	"time"

	"arbiter/cmd/arbiter/demo"
	"arbiter/providers/command/scripted"
	"arbiter/tui"
)

// demoPace is how long a step of an agent takes on screens, and how long after one wish the next is made: a person can follow.
const (
	demoPace = 1200 * time.Millisecond
	wishPace = 4 * time.Second
)

// demoScreens runs the demo with the person at the terminal as its admin: on screens, or in sentences.
func (a *app) demoScreens(ctx context.Context, f demoFlags, plain bool) (err error) {
	if plain {
		ctx = context.WithoutCancel(ctx) // an interrupt cancels a question
	}
	if f.pace == 0 {
		f.pace = demoPace
	}
	d, end, err := a.newDemoIn(ctx, f, demo.Config{Pace: f.pace, AckTimeout: 30 * time.Second})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	run, stop := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- d.Run(run) }()
	wishes := make(chan error, 1)
	go func() { wishes <- makeWishes(run, d, osUser()) }()
	screens := tui.Config{Session: d, Admin: osUser(), Mouse: true, Version: version(), Hint: demo.Hint, Explain: explained}
	if plain {
		err = a.runPlain(ctx, screens)
	} else {
		err = tui.Run(ctx, screens)
	}
	stop()
	if wished := <-wishes; !errors.Is(wished, context.Canceled) {
		err = errors.Join(err, wished)
	}
	return errors.Join(err, <-done)
}

// makeWishes states one wish after the other, so that the screens fill at a pace that can be read.
func makeWishes(ctx context.Context, d *demo.Demo, by string) error {
	for _, s := range scripted.Scenarios {
		if _, err := d.Submit(ctx, d.Wish(s, by)); err != nil {
			return err
		}
		timer := time.NewTimer(wishPace)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
	}
	return nil
}
