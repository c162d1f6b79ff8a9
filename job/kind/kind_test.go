package kind_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"almanac/job/kind"
)

func TestEveryMemberBelongsToAKind(t *testing.T) {
	t.Parallel()
	var members []string
	for _, c := range []reflect.Type{reflect.TypeFor[kind.Content](), reflect.TypeFor[kind.Own]()} {
		for f := range c.Fields() {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			members = append(members, name)
		}
	}
	require.Equal(t, members, kind.Members())
	for _, name := range kind.TargetTypes() {
		require.Equal(t, name, string(kind.Type(strings.ToUpper(name)).Kind()))
		require.Contains(t, members, kind.Type(name).Member())
	}
	require.Empty(t, kind.Type("Fax").Kind())
	require.Empty(t, kind.Type("Fax").Member())
}

func TestWhatIsSetIsFoundAndCopied(t *testing.T) {
	t.Parallel()
	c := kind.Content{QueueMessage: &kind.QueueMessage{StorageAccount: "A", QueueName: "q"}}
	require.Equal(t, "message to storage queue A/q", c.Sent().Text())
	require.Equal(t, []string{"a", "storage account a"}, []string{c.Sent().Host(), c.Sent().HostKey()})
	c.Clone().QueueMessage.QueueName = "other"
	require.Equal(t, "q", c.QueueMessage.QueueName)
	require.Nil(t, (&kind.Content{}).Sent())

	own := kind.Own{PagerDuty: &kind.PagerDuty{}}
	require.Len(t, own.Parts(), 1)
	require.Equal(t, "pagerDuty", own.Parts()[0].Name)
	require.Equal(t, "PagerDuty https://events.pagerduty.com/…", own.Parts()[0].Parameters.Text())
}
