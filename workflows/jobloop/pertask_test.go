package jobloop_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/workflows"
)

// The server terminates a workflow whose task takes more than 4 MiB, and an answer can take 27 kB.
func TestATaskAnswersSoManyUpdates(t *testing.T) {
	t.Parallel()
	w := newJobEnv(t, every(minutely))
	w.takes(10 * time.Second)
	w.lookTakes = time.Second // the others wait for the first one
	answers := make([]*answer, 200)
	w.at(5*time.Second, func() {
		for i := range answers {
			answers[i] = &answer{w: w}
			w.env.UpdateWorkflow([]string{workflows.UpdateDisable, workflows.UpdateEnable}[i%2], "", answers[i])
		}
	})
	w.run(2 * time.Minute)
	answered := map[time.Duration]int{}
	for _, a := range answers {
		a.ok(t)
		answered[a.at]++
	}
	require.GreaterOrEqual(t, len(answered), len(answers)/25)
	for _, n := range answered {
		require.LessOrEqual(t, n, 25)
	}
}
