package main

import (
	"github.com/prometheus/client_golang/prometheus"

	"arbiter/providers/bus"
)

// busCollector reads what the bus counts. Agents are numbers, never labels: their ids are their own words.
type busCollector struct {
	read func() bus.Metrics // nil where there is no bus

	messages, delivered, failures, handedOver, buried, refused, full, duplicates, heartbeats *prometheus.Desc

	queued, bytes, longest, oldest, dead, sessions, agents *prometheus.Desc
}

func newBusCollector() *busCollector {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("arbiter_bus_"+name, help, labels, nil)
	}
	return &busCollector{
		messages:   desc("messages_total", "Messages that were taken in."),
		delivered:  desc("delivered_total", "Messages that their recipients have."),
		failures:   desc("failed_deliveries_total", "Deliveries that failed, each of which is tried again or given up."),
		handedOver: desc("handed_over_total", "Messages that went to a fallback agent."),
		buried:     desc("dead_letters_total", "Messages that became dead letters."),
		refused:    desc("refused_total", "Messages that a rule refused."),
		full:       desc("full_total", "Messages that found no room; their senders keep them."),
		duplicates: desc("duplicates_total", "Messages that had come before."),
		heartbeats: desc("heartbeats_total", "Heartbeats of agents."),
		queued:     desc("queued", "Messages that wait in all queues."),
		bytes:      desc("queued_bytes", "The bytes of messages that wait."),
		longest:    desc("queue_longest", "Messages that wait in the longest queue."),
		oldest:     desc("queue_oldest_seconds", "For how long the oldest message has waited."),
		dead:       desc("dead_letters", "Dead letters that can be sent again."),
		sessions:   desc("sessions", "Open connections of agents, those that fetch right now too."),
		agents:     desc("agents", "Agents that are registered or configured, by how they are.", "state"),
	}
}

// Describe names every metric.
func (c *busCollector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		c.messages, c.delivered, c.failures, c.handedOver, c.buried, c.refused, c.full, c.duplicates, c.heartbeats, c.queued, c.bytes, c.longest, c.oldest,
		c.dead, c.sessions, c.agents,
	} {
		out <- d
	}
}

// Collect reads what the bus counts now.
func (c *busCollector) Collect(out chan<- prometheus.Metric) {
	if c.read == nil {
		return
	}
	m := c.read()
	for d, n := range map[*prometheus.Desc]uint64{
		c.messages: m.TotalMessages, c.delivered: m.Delivered, c.failures: m.Failures, c.handedOver: m.HandedOver, c.buried: m.Buried, c.refused: m.Refused,
		c.full: m.Full, c.duplicates: m.Duplicates, c.heartbeats: m.Heartbeats,
	} {
		out <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n))
	}
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	gauge(c.queued, float64(m.Queued))
	gauge(c.bytes, float64(m.Bytes))
	gauge(c.longest, float64(m.Longest))
	gauge(c.oldest, float64(m.Oldest)/1000)
	gauge(c.dead, float64(m.Dead))
	gauge(c.sessions, float64(m.ActiveSessions))
	gauge(c.agents, float64(m.Healthy), "healthy")
	gauge(c.agents, float64(m.Unhealthy), "unhealthy")
	gauge(c.agents, float64(m.Absent), "absent")
}
