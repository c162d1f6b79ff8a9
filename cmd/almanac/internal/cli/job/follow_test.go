package job_test

import (
	"fmt"
	"iter"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"almanac/client"
	"almanac/cmd/almanac/internal/cli/job"
)

// A ledger is a history of n entries, which are called 1 to n, and how many of them were read.
type ledger struct{ n, read int }

func (l *ledger) entries(q client.List) iter.Seq2[client.History, error] {
	return func(yield func(client.History, error) bool) {
		for i := l.n; i > 0 && (q.Top == 0 || l.n-i < q.Top); i-- {
			l.read++
			if !yield(client.History{ID: fmt.Sprint(i)}, nil) {
				return
			}
		}
	}
}

func TestAFollowerReturnsEachEntryOnceAndInOrder(t *testing.T) {
	t.Parallel()
	l := ledger{n: 5000}
	news := job.NewFollower()
	look := func(first bool) (names []string) {
		found, err := news(client.List{}, first, l.entries)
		require.NoError(t, err)
		for _, one := range found {
			names = append(names, one.ID)
		}
		return names
	}
	upTo := func(first, last int) (names []string) {
		for i := last; i >= first; i-- {
			names = append(names, fmt.Sprint(i))
		}
		slices.Reverse(names)
		return names
	}
	require.Equal(t, upTo(4991, 5000), look(true), "it begins with the last ten")
	require.Empty(t, look(false), "those before them are not new")
	for _, more := range []int{1, 120, 3000, 2} {
		was := l.n
		l.n += more
		l.read = 0
		require.Equal(t, upTo(was+1, l.n), look(false))
		require.LessOrEqual(t, l.read, more+50, "it reads no more than it has to")
	}
}
