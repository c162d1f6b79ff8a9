package settings

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"almanac/job/input"
	"almanac/job/quota"
)

func TestPlansOfTheOperator(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "plans.json")
	read := func(value, content string) (input.Limits, error) {
		require.NoError(t, os.WriteFile(file, []byte(content), 0o600))
		c, err := loaded(t, "api", map[string]string{"ALMANAC_PLANS": value})
		return c.Limits, err
	}
	limits, err := read("azure", "")
	require.NoError(t, err)
	require.Equal(t, input.DefaultLimits(), limits)
	limits, err = read("unlimited", "")
	require.NoError(t, err)
	require.Equal(t, input.UnlimitedTiers(), limits.Tiers)
	limits, err = read(file, `{"Free":{"jobs":7,"authentication":true}}`)
	require.NoError(t, err)
	require.Equal(t, quota.Tier{Jobs: 7, MinRecurrence: time.Hour, Collections: 1, Authentication: true}, limits.Tiers["Free"])
	_, err = read(file, `{"Fre":{"jobs":0}}`)
	require.ErrorContains(t, err, "Free")
	_, err = read("nowhere.json", "")
	require.ErrorContains(t, err, "$ALMANAC_PLANS: open nowhere.json: no such file or directory; allowed: azure, unlimited, or the name of a JSON file")
}

func TestStoredSecretsFollowAChangedTargetOnlyIfTheOperatorSaysSo(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		variable string
		args     []string
		want     bool
	}{
		{"", nil, false},
		{"true", nil, true},
		{"false", nil, false},
		{"", []string{"--allow-secret-retargeting"}, true},
		{"true", []string{"--allow-secret-retargeting=false"}, false},
	} {
		c, err := loaded(t, "api", map[string]string{"ALMANAC_ALLOW_SECRET_RETARGETING": tt.variable}, tt.args...)
		require.NoError(t, err)
		require.Equal(t, tt.want, c.Limits.AllowSecretRetargeting, "%q %q", tt.variable, tt.args)
	}
	_, err := loaded(t, "api", map[string]string{"ALMANAC_ALLOW_SECRET_RETARGETING": "perhaps"})
	require.EqualError(t, err, `$ALMANAC_ALLOW_SECRET_RETARGETING: "perhaps" is neither true nor false; allowed: true or false`)
}
