package job_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"almanac/job"
)

func TestADigestIsOfWhatUsersWriteButSecretsAndState(t *testing.T) {
	t.Parallel()
	of := func(text string) string {
		var d job.Definition
		require.NoError(t, json.Unmarshal([]byte(text), &d))
		return d.Digest()
	}
	const one = `{"action":{"request":{"uri":"https://h/","authentication":{"username":"u","password":"p","type":"Basic"}},"type":"Http"},"state":"enabled"}`
	const other = `{"action":{"request":{"uri":"https://h/","authentication":{"username":"u","password":"q","type":"Basic"}},"type":"Http"},"state":"completed"}`
	require.Equal(t, of(one), of(other))
	require.Regexp(t, `^[\w-]{22}$`, of(one))
	require.NotEqual(t, of(one), of(`{"action":{"request":{"uri":"https://h/"},"type":"Http"},"state":"enabled"}`))
}
