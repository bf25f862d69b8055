package main

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"arbiter/notify"
)

// notifyCollector reads how the ways to people stand. The names of webhooks are those of the configuration.
type notifyCollector struct {
	tally *notify.Tally
	read  func() []notify.Channel

	delivered, failed, waiting, success, failing *prometheus.Desc
}

func newNotifyCollector() *notifyCollector {
	desc := func(name, help string) *prometheus.Desc {
		return prometheus.NewDesc("arbiter_notify_"+name, help, []string{"channel"}, nil)
	}
	tally := &notify.Tally{}
	return &notifyCollector{
		tally: tally, read: tally.Channels,
		delivered: desc("delivered_total", "Notifications that arrived, by channel."),
		failed:    desc("failed_total", "Attempts that failed, most of which are made again, by channel."),
		waiting:   desc("waiting", "Notifications that are to be sent, by channel."),
		success:   desc("success_age_seconds", "For how long nothing arrived, since the start where nothing ever did, by channel."),
		failing:   desc("failing_seconds", "For how long every attempt has failed, 0 while it goes well, by channel."),
	}
}

// Describe names every metric.
func (c *notifyCollector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.delivered, c.failed, c.waiting, c.success, c.failing} {
		out <- d
	}
}

// Collect reads how they stand now.
func (c *notifyCollector) Collect(out chan<- prometheus.Metric) {
	now := time.Now()
	for _, ch := range c.read() {
		last, failing := ch.Last, 0.0
		if last.IsZero() {
			last = ch.Began
		}
		if !ch.Failing.IsZero() {
			failing = now.Sub(ch.Failing).Seconds()
		}
		out <- prometheus.MustNewConstMetric(c.delivered, prometheus.CounterValue, float64(ch.Delivered), ch.Name)
		out <- prometheus.MustNewConstMetric(c.failed, prometheus.CounterValue, float64(ch.Failed), ch.Name)
		out <- prometheus.MustNewConstMetric(c.waiting, prometheus.GaugeValue, float64(ch.Waiting), ch.Name)
		out <- prometheus.MustNewConstMetric(c.success, prometheus.GaugeValue, max(0, now.Sub(last).Seconds()), ch.Name)
		out <- prometheus.MustNewConstMetric(c.failing, prometheus.GaugeValue, max(0, failing), ch.Name)
	}
}
