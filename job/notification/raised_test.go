package notification_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"almanac/job"
	"almanac/job/kind"
	"almanac/job/notification"
)

// raisedBy returns an alert of a job with targets of its own.
func raisedBy(name string, targets ...string) notification.Raised {
	r := notification.Raised{Alert: failed(name)}
	for _, uri := range targets {
		r.Own = append(r.Own, job.Notification{Name: uri, On: []job.Event{job.EventFailed}, Target: job.Target{Type: kind.HTTPS, Content: kind.Content{Request: &kind.Request{URI: uri, Method: "POST"}}}})
	}
	return r
}

func TestEachTargetBelongsToOneShardAndThoseOfTheCollectionToTheFirst(t *testing.T) {
	t.Parallel()
	var raised []notification.Raised
	for i := range 1000 {
		raised = append(raised, raisedBy(fmt.Sprint("job", i), fmt.Sprintf("https://example.com/%d", i), fmt.Sprintf("https://example.com/%d", i/10), "https://example.com/all"))
	}
	raised = append(raised, notification.Raised{Alert: failed("inherits"), Inherit: []string{"ops"}}, notification.Raised{Alert: failed("drops"), Lost: 3})
	parts := notification.Split(raised)
	require.Equal(t, raised[1000:], parts[0])
	shards, targets := map[string]int{}, 0
	for shard, part := range parts[1:] {
		require.Greater(t, len(part), 1000/notification.Shards/2, "they are shared evenly")
		for _, r := range part {
			require.NotEmpty(t, r.Alert.ID)
			for _, n := range r.Own {
				targets++
				if other, ok := shards[n.Name]; ok {
					require.Equal(t, other, shard)
				}
				shards[n.Name] = shard
			}
		}
	}
	require.Equal(t, 3000, targets)
}

func TestAnIntegrationOfPagerDutyIsTheSameTargetWhateverItsRetryPolicyIs(t *testing.T) {
	t.Parallel()
	a := job.Target{Type: kind.Duty, Own: kind.Own{PagerDuty: &kind.PagerDuty{RoutingKey: key}}}
	b := a
	b.RetryPolicy = &job.RetryPolicy{RetryType: job.RetryNone}
	require.Equal(t, notification.TargetID(&a), notification.TargetID(&b))
	b.PagerDuty = &kind.PagerDuty{RoutingKey: key, URI: "https://events.eu.pagerduty.com/v2/enqueue"}
	require.NotEqual(t, notification.TargetID(&a), notification.TargetID(&b))
}

func TestAnOutboxIsBoundedWhateverItsAlertsAre(t *testing.T) {
	t.Parallel()
	k := job.CollectionKey{Subscription: strings.Repeat("😀", 255), ResourceGroup: strings.Repeat("😀", 255), Name: strings.Repeat("😀", 100)}.Job(strings.Repeat("😀", 255))
	var o notification.Outbox
	added, handedOver := 0, 0
	take := func(few bool) {
		offered := o.Offer()
		var positions []int
		for i := range offered {
			if !few || i%3 == 1 {
				positions = append(positions, i)
				handedOver += max(offered[i].Lost, 1)
			}
		}
		o.HandedOver(positions)
	}
	for i := range 1000 {
		r := raisedBy("", strings.Repeat("<", 1+i*7%4000))
		r.Alert.Job, r.Alert.Error = k, strings.Repeat("<", 300)
		r.Alert.Identify("run", fmt.Sprint(i))
		r.Alert.Describe("")
		added++
		fits := o.Fits(&r)
		require.Equal(t, fits, o.Add(r))
		text, err := json.Marshal(o)
		require.NoError(t, err)
		require.LessOrEqual(t, len(text), notification.MaxOutbox+2*6<<10)
		if i%100 == 60 {
			take(i%200 == 60)
		}
	}
	for !o.Empty() {
		take(false)
	}
	require.Equal(t, added, handedOver, "each alert, or its count")
	require.Empty(t, o.All())
}

func TestAnOutboxKeepsWhatWasNotHandedOverInItsOrder(t *testing.T) {
	t.Parallel()
	var o notification.Outbox
	for i := range 5 {
		o.Add(raisedBy(fmt.Sprint(i), "https://example.com/"))
	}
	o.HandedOver(nil)
	require.Len(t, o.Offer(), 5)
	o.HandedOver([]int{0, 3})
	var left []string
	for _, r := range o.Offer() {
		left = append(left, r.Alert.Job.Name)
	}
	require.Equal(t, []string{"1", "2", "4"}, left)
}

// A run that continues as new does not know whether the notice that it was handing over has arrived. If it has, the
// same one is not counted again.
func TestANoticeThatMayHaveArrivedCountsNoMore(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		then func(t *testing.T, o *notification.Outbox)
	}{
		{"although another run begins", func(t *testing.T, o *notification.Outbox) {
			t.Helper()
			text, err := json.Marshal(o)
			require.NoError(t, err)
			*o = notification.Outbox{}
			require.NoError(t, json.Unmarshal(text, o))
		}},
		{"although it is not known", func(_ *testing.T, o *notification.Outbox) { o.HandedOver(nil) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			large := raisedBy("", strings.Repeat("<", 5000))
			var o notification.Outbox
			for o.Add(large) {
			}
			for len(o.Alerts) > 0 {
				o.HandedOver([]int{0})
			}
			require.Equal(t, 1, o.Offer()[0].Lost)
			tt.then(t, &o)
			for o.Add(large) {
			}
			var lost []int
			for _, n := range o.Notices {
				lost = append(lost, n.Lost)
			}
			require.Equal(t, []int{1, 1}, lost)
		})
	}
}
