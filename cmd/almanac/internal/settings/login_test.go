package settings

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSettingsOfLoginsHaveToAgree(t *testing.T) {
	t.Parallel()
	tokens, secret := written(t, "tokens.yaml", ""), written(t, "secret", "hush\n")
	long := written(t, "key", strings.Repeat("k", 32)+"\n")
	const issuers = "--oidc-issuer https://a.example --oidc-issuer https://b.example --oidc-audience x "
	for args, want := range map[string]string{
		issuers + "--oidc-client-id almanac": "",
		issuers + "--oidc-client-id almanac --oidc-client-secret-file " + secret + " --oidc-login-issuer https://b.example --session-key-file " + long: "",
		issuers + "--oidc-cli-client-id almanac-cli":                               "",
		"--token-file " + tokens + " --oidc-cli-client-id almanac-cli":             "--oidc-cli-client-id: no issuer is given; allowed: a client with --oidc-issuer",
		"--token-file " + tokens + " --oidc-client-id almanac":                     "--oidc-client-id: no issuer is given; allowed: a client with --oidc-issuer",
		issuers + "--oidc-client-secret-file " + secret:                            "--oidc-client-secret-file: no client is given",
		issuers + "--oidc-client-id almanac --oidc-login-issuer https://c.example": `--oidc-login-issuer: "https://c.example" is not one of --oidc-issuer`,
		issuers + "--oidc-client-id almanac --oidc-client-secret-file nowhere":     "--oidc-client-secret-file: open nowhere",
		"--token-file " + tokens + " --session-key-file " + secret:                 "--session-key-file: the secret is too short: it has 4 bytes; allowed: a random text of at least 32 bytes",
		"--token-file " + tokens + " --session-lifetime 1m":                        "--session-lifetime: 1m is too short",
		"--hide-responses": "--hide-responses: nothing tells who calls",
		"--token-file " + tokens + " --hide-responses":                                   "",
		issuers + "--oidc-client-id almanac --session-key-file nowhere --hide-responses": "--session-key-file: open nowhere",
	} {
		_, err := loaded(t, "api", nil, strings.Fields(args)...)
		if want == "" {
			require.NoError(t, err, args)
		} else {
			require.ErrorContains(t, err, want, args)
		}
	}
	c, err := loaded(t, "api", map[string]string{"ALMANAC_OIDC_CLIENT_SECRET": "hush", "ALMANAC_SESSION_KEY": strings.Repeat("k", 32)}, strings.Fields(issuers+"--oidc-client-id almanac")...)
	require.NoError(t, err)
	require.Equal(t, []string{"hush", "https://a.example"}, []string{c.Access.Login.ClientSecret, c.Access.Login.Issuer})
	_, err = loaded(t, "api", map[string]string{"ALMANAC_OIDC_CLIENT_SECRET": "hush"}, strings.Fields(issuers+"--oidc-client-id almanac --oidc-client-secret-file "+secret)...)
	require.ErrorContains(t, err, "--oidc-client-secret-file: $ALMANAC_OIDC_CLIENT_SECRET is set, too; allowed: one of them")
	_, err = loaded(t, "api", map[string]string{"ALMANAC_SESSION_KEY": "short"}, "--token-file", tokens)
	require.ErrorContains(t, err, "$ALMANAC_SESSION_KEY: the secret is too short")
	require.NotContains(t, err.Error(), "short\"")
}
