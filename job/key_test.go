package job_test

import (
	"errors"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"almanac/job"
)

func TestKeysDifferInMoreThanCase(t *testing.T) {
	t.Parallel()
	a := job.CollectionKey{Subscription: "Sub", ResourceGroup: "RG", Name: "Col"}.Job("Job")
	b := job.CollectionKey{Subscription: "sub", ResourceGroup: "rg", Name: "col"}.Job("job")
	require.Equal(t, a.WorkflowID(), b.WorkflowID())
	require.Equal(t, "job/sub/rg/col/job", a.WorkflowID())
	require.Equal(t, "collection/sub/rg/col", a.Collection.WorkflowID())
	short := job.CollectionKey{Subscription: job.NilSubscription, ResourceGroup: "RG", Name: "Col"}.Job("Job")
	require.Equal(t, "job/rg/col/job", short.WorkflowID())
	require.Equal(t, "collection/rg/col", short.Collection.WorkflowID())
	require.Equal(t, "/subscriptions/Sub/resourceGroups/RG/providers/Microsoft.Scheduler/jobCollections/Col/jobs/Job", a.ARMID())
	require.NotEqual(t, a.WorkflowID(), a.Collection.Job("job2").WorkflowID())
}

func TestWorkflowIDsAreASCIIAndTellNamesApart(t *testing.T) {
	t.Parallel()
	c := job.CollectionKey{Subscription: "s", ResourceGroup: "R (1)", Name: "カフェ"}
	require.Equal(t, "collection/s/r%20%281%29/%E3%82%AB%E3%83%95%E3%82%A7", c.WorkflowID())
	require.Equal(t, c.WorkflowID(), job.CollectionWorkflowID("s", c.Path()))
	require.Equal(t, "job/s/r%20%281%29/%E3%82%AB%E3%83%95%E3%82%A7/t%C3%A4glich", c.Job("Täglich").WorkflowID())
	require.Equal(t, "subscription/%C3%BC", job.SubscriptionWorkflowID("ü"))

	names := []string{"a-b", "a_b", "a.b", "a b", "a~b", "a+b", "täglich", "tÄglich", "k", "\u212a", "i", "\u0130", "s", "\u017f", "\u00e9", "e\u0301", "c3", "🚀", "👩‍💻"}
	seen := map[string]string{}
	for _, name := range names {
		k := job.CollectionKey{Subscription: "s", ResourceGroup: "g", Name: "c"}.Job(name)
		require.NoError(t, k.Validate(), "%q", name)
		id := k.WorkflowID()
		require.Regexp(t, `^job/s/g/c/[a-z0-9._%A-F-]+$`, id)
		require.Empty(t, seen[id], "%q", name)
		seen[id] = name
		decoded, err := url.PathUnescape(strings.TrimPrefix(id, "job/s/g/c/"))
		require.NoError(t, err)
		require.Equal(t, job.NormalizeName(name), decoded)
	}
}

func TestLongWorkflowIDsFitAndStayDifferent(t *testing.T) {
	t.Parallel()
	k := func(last string) job.Key {
		widest := strings.Repeat("𒀭", 254)
		return job.CollectionKey{Subscription: widest + last, ResourceGroup: widest + last, Name: strings.Repeat("𒀭", 99) + last}.Job(widest + last)
	}
	ids := map[string]bool{}
	for _, last := range []string{"a", "b", "é", "~"} {
		require.NoError(t, k(last).Validate())
		for _, id := range []string{k(last).WorkflowID(), k(last).Collection.WorkflowID(), job.SubscriptionWorkflowID(k(last).Collection.Subscription)} {
			require.Len(t, id, 255, "what a column of Temporal's tables holds in PostgreSQL")
			require.False(t, ids[id])
			ids[id] = true
		}
	}
	require.Equal(t, k("A").WorkflowID(), k("a").WorkflowID())

	plain := job.CollectionKey{Subscription: "s", ResourceGroup: "g", Name: "c"}
	require.Equal(t, "job/s/g/c/"+strings.Repeat("a", 245), plain.Job(strings.Repeat("a", 245)).WorkflowID(), "what fits is not cut")
	require.Contains(t, plain.Job(strings.Repeat("a", 246)).WorkflowID(), "a~")
}

func TestFoldChangesTheCaseOfASCIIOnly(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"AZaz[@`{": "azaz[@`{", "\u212a": "\u212a", "\u0130": "\u0130", "ÄÖÜ": "ÄÖÜ", "ΣΑΣ": "ΣΑΣ", "\u017f": "\u017f", "E\u0301": "e\u0301", "": "",
	} {
		require.Equal(t, want, job.NormalizeName(name))
	}
}

func TestNamesThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	good := job.CollectionKey{Subscription: "s", ResourceGroup: "r (1)", Name: "c_1"}
	require.NoError(t, good.Job("täglich - 5.00").Validate())
	for _, name := range []string{
		"", " a", "a ", "\u3000a", "a\u00a0", "a.", "..", "a/b", `a\b`, "a?b", "a#b", "a%b", "a:b", "a\nb", "a\x00b", "a\x7fb", "a\u0085b",
		"a\xffb", "a\xed\xa0\x80b", "a\ufffdb", "a\u2028b", "a\u202eb", "a\u200fb", "a\uffffb", "a\U0001fffeb", strings.Repeat("a", 256), strings.Repeat("é", 256),
	} {
		err := good.Job(name).Validate()
		e, ok := errors.AsType[*job.Error](err)
		require.True(t, ok, "%q", name)
		require.Equal(t, job.KindInvalid, e.Kind)
		require.Equal(t, "jobName", e.Fields[0].Path)
	}
	bad := job.CollectionKey{Subscription: "", ResourceGroup: "/", Name: strings.Repeat("a", 101)}
	e, ok := errors.AsType[*job.Error](bad.Job("").Validate())
	require.True(t, ok)
	require.Len(t, e.Fields, 3)
}
