package ssot_test

import (
	"context"
	"fmt"
	"time"

	"arbiter/amp"
	"arbiter/ssot"
	"arbiter/ssot/memory"
)

// A fact is sent twice, as after a lost answer: it is stored once, and a follower sees it once.
func Example() {
	ctx := context.Background()
	log := memory.New()
	fact := amp.Record{
		Kind: amp.KindBus, Role: amp.System, Actor: "arbiter", At: time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC),
		ID: "01JNA7", Body: []byte("registered"),
	}
	for range 2 {
		out, err := log.Append(ctx, []amp.Record{fact})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(out[0].Entry.Seq, out[0].Fresh)
	}
	wake := make(chan struct{})
	close(wake)
	err := ssot.Follow(ctx, log, 0, wake, func(page []amp.Entry) error {
		for _, e := range page {
			fmt.Printf("%d %s %s\n", e.Seq, e.ID, e.Body)
		}
		return nil
	})
	fmt.Println(err)
	// Output:
	// 1 true
	// 1 false
	// 1 01JNA7 registered
	// <nil>
}
