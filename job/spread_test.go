package job_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"almanac/job"
)

func TestAFlexibleWindowIsFilledEvenly(t *testing.T) {
	t.Parallel()
	const window, jobs = 5 * time.Minute, 10_000
	collection := job.CollectionKey{Subscription: "s", ResourceGroup: "g", Name: "c"}
	for form, c := range map[string]struct {
		name        func(i int) string
		second, ten float64 // how much more than the mean at most
	}{
		"numbers":              {func(i int) string { return fmt.Sprint("job-", i) }, 1.6, 1.15},
		"numbers with zeros":   {func(i int) string { return fmt.Sprintf("j%05d", i) }, 1.6, 1.15},
		"numbers amid":         {func(i int) string { return fmt.Sprintf("team-%d-nightly", i) }, 1.6, 1.15},
		"every seventh":        {func(i int) string { return fmt.Sprint("job", 7*i) }, 1.6, 1.15},
		"numbers of two parts": {func(i int) string { return fmt.Sprintf("tenant-%d-report-%d", i/20, i%20) }, 1.7, 1.2},
		"words": {func(i int) string {
			return spell(i/400) + "-" + spell(i/20%20) + "-" + spell(i%20)
		}, 1.7, 1.2},
		"hexadecimal": {func(i int) string { return fmt.Sprintf("%x", i) }, 1.7, 1.2},
		"by no rule":  {func(i int) string { return uuid.NewSHA1(uuid.NameSpaceOID, fmt.Append(nil, i)).String() }, 1.7, 1.2},
	} {
		t.Run(form, func(t *testing.T) {
			t.Parallel()
			var ms [300_000]int
			for i := range jobs {
				at := job.Spread(collection.Job(c.name(i)), window)
				require.GreaterOrEqual(t, at, time.Duration(0))
				require.Less(t, at, window)
				ms[at.Milliseconds()]++
			}
			require.LessOrEqual(t, fullest(ms[:], 1000), c.second, "the fullest second")
			require.LessOrEqual(t, fullest(ms[:], 10_000), c.ten, "the fullest ten seconds")
		})
	}
}

// spell returns a word for a number.
func spell(n int) string {
	var word []byte
	for ; n > 0 || len(word) < 2; n /= 20 {
		word = append(word, "bcdfghjklmnpqrstvwxz"[n%20], "aeiou"[n%5])
	}
	return string(word)
}

// What has no rule is spread as by dice: no function of a name alone can do better for names that are drawn at random,
// since it does not know the others.
func TestNamesByNoRuleAreSpreadAsByDice(t *testing.T) {
	t.Parallel()
	const window, jobs, sets = 5 * time.Minute, 10_000, 20
	collection := job.CollectionKey{Subscription: "s", ResourceGroup: "g", Name: "c"}
	sum := 0.0
	for set := range sets {
		var ms [300_000]int
		for i := range jobs {
			name := uuid.NewSHA1(uuid.NameSpaceOID, fmt.Append(nil, set, i)).String()
			ms[job.Spread(collection.Job(name), window).Milliseconds()]++
		}
		sum += fullest(ms[:], 10_000)
	}
	require.Less(t, sum/sets, 1.18, "the fullest ten seconds, as a mean of the sets")
	t.Logf("the fullest ten seconds have %.3f times the mean", sum/sets)
}

// fullest returns how full the fullest stretch of some milliseconds is that begins at a whole second, by the mean.
func fullest(ms []int, length int) float64 {
	total, most := 0, 0
	for _, n := range ms {
		total += n
	}
	for from := 0; from+length <= len(ms); from += 1000 {
		sum := 0
		for _, n := range ms[from : from+length] {
			sum += n
		}
		most = max(most, sum)
	}
	return float64(most) * float64(len(ms)) / float64(length) / float64(total)
}

// What a name is spread to is part of what users rely on.
func TestASpreadStaysTheSame(t *testing.T) {
	t.Parallel()
	k := job.CollectionKey{Subscription: "s", ResourceGroup: "g", Name: "c"}.Job("nightly-7")
	require.Equal(t, 51763*time.Millisecond, job.Spread(k, 5*time.Minute))
	require.Equal(t, 2*job.Spread(k, 5*time.Minute), job.Spread(k, 10*time.Minute).Truncate(2*time.Millisecond))
	require.Zero(t, job.Spread(k, 0))
}
