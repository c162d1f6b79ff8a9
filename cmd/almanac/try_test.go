//go:build !slim

package main

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"almanac/cmd/almanac/internal/settings"
	"almanac/cmd/almanac/internal/wiring"
	"almanac/internal/emulators"
)

func TestTheFirstCommandSaysWhatItTakes(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "it's here")
	require.NoError(t, os.Mkdir(dir, 0o700))
	tokens, policy := filepath.Join(dir, "tokens.yaml"), filepath.Join(dir, "access.yaml")
	require.NoError(t, os.WriteFile(tokens, nil, 0o600))
	require.NoError(t, os.WriteFile(policy, []byte("assignments: []\n"), 0o600))
	quotedDir := strings.ReplaceAll(dir, "'", `'\''`)
	cert, key, err := emulators.WriteCertificate(t.TempDir(), "jobs.example.com")
	require.NoError(t, err)
	const bearer = `curl -H "Authorization: Bearer $TOKEN" -X PUT http://127.0.0.1:8080/`
	for name, tt := range map[string]struct {
		listen  string
		args    []string
		command string
		remarks []string
	}{
		"without a login":  {"127.0.0.1:8080", nil, "curl -X PUT http://127.0.0.1:8080/", nil},
		"on all addresses": {"[::]:8080", nil, "curl -X PUT http://127.0.0.1:8080/", nil},
		"tokens of a file": {"127.0.0.1:8080", []string{"--token-file", tokens}, bearer, []string{
			`$TOKEN is a token of a contributor or owner; "almanac token create --name NAME --role owner --token-file '` + quotedDir + `/tokens.yaml'" makes one`,
		}},
		"tokens of an issuer": {"127.0.0.1:8080", []string{"--oidc-issuer", "https://id.example.com/", "--oidc-audience", "jobs", "--access", policy}, bearer, []string{
			"$TOKEN is a token of https://id.example.com/ for the audience jobs, whose bearer is a contributor or owner by " + policy +
				"; the token_endpoint in https://id.example.com/.well-known/openid-configuration gives one",
		}},
		"tokens of Entra ID, whose bearers have no role": {"127.0.0.1:8080", []string{"--oidc-issuer", "https://sts.windows.net/t/", "--oidc-audience", "https://management.azure.com/"}, bearer, []string{
			"$TOKEN is a token of https://sts.windows.net/t/ for the audience https://management.azure.com/, whose bearer needs a role in a file that --access names; " +
				`"az account get-access-token --resource https://management.azure.com/ --query accessToken --output tsv" prints one`,
		}},
		"a certificate of another name": {"127.0.0.1:8080", []string{"--tls-cert", cert, "--tls-key", key}, "curl --cacert " + cert + " -X PUT https://127.0.0.1:8080/", []string{
			"its certificate is not for 127.0.0.1, and the API goes by none of its names: give one of them in --allowed-hosts",
		}},
		"a certificate of an allowed name": {"[::1]:8080", []string{"--tls-cert", cert, "--tls-key", key, "--allowed-hosts", "*.example.com"},
			"curl --resolve jobs.example.com:8080:[::1] --cacert " + cert + " -X PUT https://jobs.example.com:8080/", nil},
		"certificates of callers": {"127.0.0.1:8080", []string{"--tls-cert", cert, "--tls-key", key, "--client-ca", cert, "--public-url", "https://jobs.example.com", "--ca-file", cert},
			"curl --resolve jobs.example.com:8080:127.0.0.1 --cacert " + cert + " --cert client.pem --key client.key -X PUT https://jobs.example.com:8080/", []string{
				"client.pem and client.key are a certificate that an authority of --client-ca signed, and its key; its subject needs a role in a file that --access names",
			}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := &cobra.Command{Use: "dev"}
			c := settings.For(cmd, func(string) (string, bool) { return "", false })
			require.NoError(t, cmd.ParseFlags(tt.args))
			require.NoError(t, c.Load())
			listen, err := net.ResolveTCPAddr("tcp", tt.listen)
			require.NoError(t, err)
			command, remarks := firstCommand(&wiring.Process{Config: c}, listen)
			before, _, found := strings.Cut(command, "jobCollections/")
			require.True(t, found, command)
			require.Equal(t, tt.command, before)
			require.Equal(t, tt.remarks, remarks)
		})
	}
}
