package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"almanac/cmd/almanac/internal/settings"
	"almanac/cmd/almanac/internal/wiring"
	"almanac/internal/codec"
)

func newCodec(getenv settings.Lookup) *cobra.Command {
	cmd := command(&cobra.Command{
		Use:   "codec",
		Short: "Let the Temporal Web UI and CLI show what is encrypted",
		Long: `Serve /decode, with which the Temporal Web UI and the temporal CLI show in clear
what Almanac encrypts in Temporal. /encode is refused, because a payload is encrypted
for one workflow, and a codec server is not told which.

Callers see the secrets of all jobs. They must send the token in $ALMANAC_CODEC_TOKEN;
without it, the server listens on loopback addresses only. Give it --tls-cert and
--tls-key if other machines reach it.

In the Web UI, set the codec endpoint to the address, and give the page's origin with
--origin. With the CLI:

  temporal workflow show --workflow-id … \
    --codec-endpoint http://127.0.0.1:8234 --codec-auth "Bearer $ALMANAC_CODEC_TOKEN"`,
		Example: "  (umask 077; almanac codec generate-key > keys)\n  almanac codec --encryption-keys-file keys --origin http://localhost:8233",
		Args:    cobra.NoArgs,
	}, getenv, runCodec)
	cmd.AddCommand(newGenerateKey())
	return cmd
}

func runCodec(cmd *cobra.Command, _ []string, p *wiring.Process) error {
	if p.Keys == nil {
		return fmt.Errorf("there are no keys to decode with: set --encryption-keys-file or $%s", settings.KeysVariable)
	}
	l, err := listenCodec(cmd.Context(), p, "listen")
	if err != nil {
		return err
	}
	for i, o := range p.Origins {
		p.Origins[i] = strings.TrimSuffix(o, "/")
	}
	p.FollowCertificates(cmd.Context())
	return serve(cmd.Context(), p, l, p.ServerTLS(), codecHandler(p, p.Origins))
}

// codecHandler returns the codec server. Pages of the origins may ask it.
func codecHandler(p *wiring.Process, origins []string) http.Handler {
	return p.Hosts.Check(p.Keys.Handler(codec.HandlerOptions{Token: p.CodecToken, Origins: origins}))
}

// listenCodec opens the codec server's listener, whose address is in a setting, and prints it.
func listenCodec(ctx context.Context, p *wiring.Process, name string) (net.Listener, error) {
	l, err := listen(ctx, p.Setting(name))
	if err == nil {
		fmt.Fprintf(p.Out, "Codec     %s://%s  (keys %s)\n", p.Scheme(), l.Addr(), p.Keys)
	}
	return l, err
}

func newGenerateKey() *cobra.Command {
	return &cobra.Command{
		Use:   "generate-key [id]",
		Short: "Print a new encryption key",
		Long: `Print a new line for the file of keys, id:key. The default of the id is today's
date and a random text, since every key needs an id of its own. Keep the file as safe
as the secrets, and apart from Temporal's database: without its key, what is encrypted
is lost.`,
		Example:           "  (umask 077; almanac codec generate-key > keys)",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			id := time.Now().UTC().Format(time.DateOnly) + "-" + rand.Text()[:8]
			if len(args) == 1 {
				id = args[0]
			}
			entry := id + ":" + codec.GenerateKey()
			if _, err := codec.ParseKeys(entry); err != nil {
				return fmt.Errorf("%q cannot be the id of a key; allowed: at most 32 letters, digits, dots, dashes and underscores", id)
			}
			_, err := fmt.Fprintln(cmd.OutOrStdout(), entry)
			return err
		},
	}
}
