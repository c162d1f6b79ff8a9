package calendarcache

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"

	"almanac/job"
)

var scope = job.CollectionKey{Subscription: "s", ResourceGroup: "g", Name: "c"}

// fake is calendars, by the IDs of their workflows.
type fake struct {
	kept   map[string]job.KeptCalendar
	asked  []string
	broken error
}

func (f *fake) ask(_ context.Context, id, _ string, result any) error {
	f.asked = append(f.asked, id)
	kept, ok := f.kept[id]
	if f.broken != nil {
		return f.broken
	}
	if !ok {
		return serviceerror.NewNotFound("none")
	}
	text, err := json.Marshal(kept)
	if err != nil {
		return err
	}
	*result.(*json.RawMessage) = text //nolint:forcetypeassert // it is what the reader asks for
	return nil
}

func (f *fake) put(k job.CalendarKey, generation int) {
	f.kept[k.WorkflowID()] = job.KeptCalendar{
		Key: k, Version: generation, Generation: generation, Calendar: job.Calendar{WeekendDays: []string{"sunday"}},
	}
}

func newReader() (*Reader, *fake, *time.Time) {
	f, now := &fake{kept: map[string]job.KeptCalendar{}}, new(time.Now())
	return &Reader{ask: f.ask, now: func() time.Time { return *now }}, f, now
}

func TestACalendarOfTheCollectionShadowsThatOfTheSubscription(t *testing.T) {
	t.Parallel()
	r, f, now := newReader()
	_, err := r.Read(t.Context(), scope, []string{"SE"})
	require.Equal(t, job.KindNotFound, job.KindOf(err))
	shared := job.SubscriptionScope("s").Calendar("SE")
	f.put(shared, 5)
	*now = now.Add(maxAge)
	found, err := r.Read(t.Context(), scope, []string{"SE"})
	require.NoError(t, err)
	require.Equal(t, shared, found[0].Key)
	f.put(scope.Calendar("SE"), 7)
	found, err = r.Read(t.Context(), scope, []string{"SE"})
	require.NoError(t, err)
	require.Equal(t, 5, found[0].Generation, "it is not asked for again at once")
	found, err = r.Read(t.Context(), scope, []string{"se"}, Least{scope.Calendar("SE"), 7})
	require.NoError(t, err)
	require.Equal(t, 7, found[0].Generation)
}

func TestACalendarIsAskedForOnceInAWhileOrWhenANewerOneIsWanted(t *testing.T) {
	t.Parallel()
	r, f, now := newReader()
	k := scope.Calendar("SE")
	read := func(least ...Least) (Found, error) {
		found, err := r.Read(t.Context(), scope, []string{"SE"}, least...)
		if err != nil {
			return Found{}, err
		}
		return found[0], nil
	}
	f.put(k, 1)
	first, err := read()
	require.NoError(t, err)
	*now = now.Add(maxAge - 1)
	_, err = read()
	require.NoError(t, err)
	require.Len(t, f.asked, 1)
	*now = now.Add(1)
	again, err := read()
	require.NoError(t, err)
	require.Len(t, f.asked, 2)
	require.Same(t, first.Table, again.Table, "the same version is prepared once")
	_, err = read(Least{k, 2})
	require.Error(t, err)
	f.put(k, 2)
	newer, err := read(Least{k, 2})
	require.NoError(t, err)
	require.NotSame(t, first.Table, newer.Table)
	f.put(k, 3)
	r.Forget(k.WorkflowID())
	newest, err := read()
	require.NoError(t, err)
	require.Equal(t, 3, newest.Version)
	f.broken = errors.New("down")
	*now = now.Add(maxAge)
	_, err = read()
	require.ErrorIs(t, err, f.broken)
}

func TestTheCacheIsBounded(t *testing.T) {
	t.Parallel()
	r, f, _ := newReader()
	large := job.Calendar{WeekendDays: []string{}, Description: strings.Repeat("x", job.MaxCalendarBytes)}
	for i := range 100 {
		k := scope.Calendar(strings.Repeat("a", i+1))
		f.kept[k.WorkflowID()] = job.KeptCalendar{Key: k, Generation: 1, Calendar: large}
		_, err := r.Read(t.Context(), scope, []string{k.Name})
		require.NoError(t, err)
	}
	require.LessOrEqual(t, r.size, maxBytes)
	require.Greater(t, r.size, maxBytes/2)
	require.Len(t, r.kept, r.order.Len())
}
