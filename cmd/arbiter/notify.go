package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"arbiter/amp"
	"arbiter/coordinator"
	"arbiter/notify"
)

// ownSession is the coordinator of this process.
type ownSession struct{ *coordinator.Coordinator }

// Follow ends without an error when the coordinator ends.
func (s ownSession) Follow(ctx context.Context, after uint64, batch func([]amp.Entry) error) error {
	return follower(s.Coordinator)(ctx, after, batch)
}

// notify tells people what waits, until ctx ends; without a configuration there is nobody to tell. Of a team one coordinator alone tells
// those in chats and behind webhooks, by the names that these have; a desktop is told by the coordinator of its machine.
func (c *config) notify(ctx context.Context, home, configDir string, coord *coordinator.Coordinator, tally *notify.Tally, logger *slog.Logger) error {
	if !c.Notify.configured() {
		return nil
	}
	cfg := c.Notify.config(configDir)
	cfg.Home, cfg.Session, cfg.Tally, cfg.Logger = home, ownSession{coord}, tally, logger
	if c.Notify.Desktop && cfg.Desktop == nil {
		logger.Warn("there is no program for notifications on this desktop; arbiter doctor says which is missing")
	}
	duty := notifyDuty(&cfg)
	if c.Store.URL == "" || duty == "" {
		notify.New(cfg).Run(ctx)
		return nil
	}
	desk := cfg
	desk.Telegram, desk.Webhooks, desk.Home = nil, nil, filepath.Join(home, "desktop")
	cfg.Desktop = nil
	var wg sync.WaitGroup
	defer wg.Wait()
	if desk.Desktop != nil {
		if err := os.MkdirAll(desk.Home, 0o700); err != nil {
			return fmt.Errorf("create the folder of notifications: %w", err)
		}
		wg.Go(func() { notify.New(desk).Run(ctx) })
	}
	coord.Duty(ctx, duty, notify.New(cfg).Run)
	return nil
}

// notifyDuty names who is told, so that coordinators that tell others do not wait for each other; "" when there are neither chats nor webhooks.
func notifyDuty(cfg *notify.Config) string {
	var who []string
	if cfg.Telegram != nil {
		for _, chat := range cfg.Telegram.Chats {
			who = append(who, strconv.FormatInt(chat, 10))
		}
	}
	for _, w := range cfg.Webhooks {
		who = append(who, w.Name)
	}
	if len(who) == 0 {
		return ""
	}
	slices.Sort(who)
	sum := sha256.Sum256([]byte(strings.Join(who, "\n")))
	return "notify-" + hex.EncodeToString(sum[:3])
}

func newNotify(a *app) *cobra.Command {
	c := group("notify", "Messages to people who are not at the screen", newNotifyTest(a))
	c.GroupID = "Coordinator:"
	return c
}

// sent is what became of one test.
type sent struct {
	To    string `json:"to"`
	OK    bool   `json:"ok"`
	Error string `json:"error,omitzero"`
}

func newNotifyTest(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "test", Short: "Send a test to every configured chat, webhook and desktop; exit code 1 when one does not take it", Args: takes(),
		RunE: a.do(func(c *cobra.Command, _ []string) error {
			if err := a.elsewhere(); err != nil {
				return err
			}
			cfg, err := a.loadConfig()
			if err != nil {
				return err
			}
			file, _ := a.configPath()
			if !cfg.Notify.configured() {
				return usage("no notifications are configured in %s", file).then("Add [notify.telegram], a [[notify.webhook]] or desktop = true under [notify].")
			}
			all := cfg.Notify.test(c.Context(), filepath.Dir(file))
			failed := false
			for _, s := range all {
				failed = failed || !s.OK
			}
			if a.json {
				a.outJSON(all)
			} else {
				t := &table{}
				for _, s := range all {
					word := map[bool]string{true: "sent", false: "failed"}[s.OK]
					t.add(word, s.To, s.Error)
				}
				t.print(a)
			}
			if failed {
				return &quietError{code: exitFailed}
			}
			return nil
		}),
	}
}

// test sends a test everywhere.
func (n *notifyConfig) test(ctx context.Context, configDir string) []sent {
	cfg := n.config(configDir)
	var all []sent
	add := func(to string, err error) {
		s := sent{To: to, OK: err == nil}
		if err != nil {
			s.Error = err.Error()
		}
		all = append(all, s)
	}
	if t := cfg.Telegram; t != nil {
		for _, chat := range t.Chats {
			one := *t
			one.Chats = []int64{chat}
			_, err := notify.TestTelegram(ctx, &one, true)
			add(fmt.Sprintf("chat %d", chat), err)
		}
	}
	for _, w := range cfg.Webhooks {
		add("webhook "+w.Name, notify.TestWebhook(ctx, w, time.Now()))
	}
	if n.Desktop {
		err := fmt.Errorf("neither notify-send nor osascript is installed here")
		if cfg.Desktop != nil {
			err = cfg.Desktop(ctx, "arbiter", "A test of Arbiter's notifications: nothing waits.", false)
		}
		add("desktop", err)
	}
	return all
}

// examineNotify says whether people can be told. Nothing is asked of a service, unless it is to be tried.
func (n *notifyConfig) examineNotify(configDir, file string) []finding {
	var all []finding
	cfg := n.config(configDir)
	if t := cfg.Telegram; t != nil {
		f := finding{"telegram", "ok", fmt.Sprintf("the token is there; %s, %s may decide", plural(len(t.Chats), "chat"), plural(len(t.People), "person")), ""}
		if len(t.People) != 1 {
			f.What = fmt.Sprintf("the token is there; %s, %d people may decide", plural(len(t.Chats), "chat"), len(t.People))
		}
		if len(t.People) == 0 {
			f.Level, f.Next = "warn", "Name who may decide from there under [notify.telegram.people] in "+file+"."
		}
		if _, err := t.Token(); err != nil {
			f = finding{"telegram", "fail", err.Error(), "Mend it, or correct notify.telegram in " + file + "."}
		}
		all = append(all, f)
	}
	for _, w := range cfg.Webhooks {
		f := finding{"webhook " + w.Name, "ok", "is configured, and signed", ""}
		_, err := w.URL()
		if w.Secret == nil {
			f.What = "is configured, not signed"
		} else if err == nil {
			_, err = w.Secret()
		}
		if err != nil {
			f = finding{f.Name, "fail", err.Error(), "Mend it, or correct the webhook in " + file + "."}
		}
		all = append(all, f)
	}
	if n.Desktop && cfg.Desktop == nil {
		all = append(all, finding{"desktop notifications", "warn", "neither notify-send nor osascript is installed here", "Install libnotify's notify-send, or set notify.desktop = false."})
	}
	return all
}

// tryNotify asks Telegram who the bot is.
func (a *app) tryNotify(ctx context.Context) ([]finding, error) {
	c, err := a.loadConfig()
	if err != nil {
		return nil, err
	}
	file, _ := a.configPath()
	t := c.Notify.Telegram.bot(filepath.Dir(file))
	if t == nil {
		return nil, nil
	}
	name, err := notify.TestTelegram(ctx, t, false)
	if err != nil {
		return []finding{{"try telegram", "fail", err.Error(), "Check the token: BotFather shows it with /mybots."}}, nil
	}
	return []finding{{"try telegram", "ok", "the bot is " + name, ""}}, nil
}
