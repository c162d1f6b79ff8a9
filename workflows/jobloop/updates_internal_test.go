package jobloop

import (
	"testing"

	"github.com/stretchr/testify/require"

	"almanac/workflows"
)

func TestEveryUpdateOfAJobHasAHandlerAndADescription(t *testing.T) {
	t.Parallel()
	var handled, listed []string
	for _, u := range new(loop).updates() {
		handled = append(handled, u.name)
	}
	for _, u := range workflows.JobUpdates {
		listed = append(listed, u.Name)
		require.NotEmpty(t, u.Description, u.Name)
	}
	require.Equal(t, listed, handled)
}
