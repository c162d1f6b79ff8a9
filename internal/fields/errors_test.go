package fields_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"almanac/internal/fields"
)

func TestShowCutsATextWithinItsQuotes(t *testing.T) {
	t.Parallel()
	require.Equal(t, `"`+strings.Repeat("\\n", 100)+`…"`, fields.Show(strings.Repeat("\n", 101)))
	require.Equal(t, `"täglich"`, fields.Show("täglich"))
	require.Equal(t, "7", fields.Show(7))
}
