package console

import (
	"errors"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAPanicOfAPartIsItsError(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	errs := eachOf(20, func(i int) error {
		switch i {
		case 3:
			panic("a secret")
		case 5:
			return broken
		}
		return nil
	})
	require.Len(t, errs, 20)
	require.ErrorContains(t, errs[3], "parts_test.go")
	require.NotContains(t, (&page{ctx: t.Context(), console: &Console{Options: Options{Log: slog.New(slog.DiscardHandler)}}}).lost(errs[3]), "secret")
	require.ErrorIs(t, errs[5], broken)
	require.NoError(t, errs[19])
}
