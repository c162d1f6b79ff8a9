package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"almanac/internal/codec"
)

// tokenVariable has no flag, because other users of a machine can read command lines.
const tokenVariable = "ALMANAC_CODEC_TOKEN"

func newCodec(lookup func(string) (string, bool)) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "codec",
		Short: "Let the Temporal Web UI and CLI show what is encrypted",
		Long: `Serve /decode, with which the Temporal Web UI and the temporal CLI show in clear
what Almanac keeps encrypted in Temporal. /encode is refused: a payload is
encrypted for one workflow, and a codec server is not told which. Whoever may ask
sees the secrets of all jobs: that takes the token in $` + tokenVariable + `,
without which the server listens on loopback addresses only. Put TLS before it.

In the Web UI, set the codec endpoint to the address, and name the page's own
origin with --origin. With the CLI:

  temporal workflow show --workflow-id … \
    --codec-endpoint http://127.0.0.1:8234 --codec-auth "Bearer $` + tokenVariable + `"`,
		Example: "  " + keysVariable + "_FILE=keys almanac codec --origin http://localhost:8233\n  (umask 077; almanac codec generate-key > keys)",
		Args:    cobra.NoArgs,
	}
	s := &settings{flags: cmd.Flags(), lookup: lookup}
	address := s.address("listen", "ALMANAC_CODEC_LISTEN", defaultCodecAddress, "address of the codec server; port 0 picks a free one")
	token := s.codecToken("listen", address)
	hosts := s.hosts(nil, address)
	pages := s.text("origin", "ALMANAC_CODEC_ORIGIN", "", "origins of the Web UIs that may ask, separated by commas, such as http://127.0.0.1:8233")
	keys := s.encryption()
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := s.check(); err != nil {
			return err
		}
		if keys() == nil {
			return fmt.Errorf("there are no keys to decode with: set --encryption-keys-file or $%s", keysVariable)
		}
		s.warn(slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), nil)))
		l, err := listenCodec(cmd.Context(), *address, keys(), cmd.OutOrStdout())
		if err != nil {
			return err
		}
		return serve(cmd.Context(), l, hosts().Check(keys().Handler(codec.HandlerOptions{Token: token, Origins: origins(*pages)})))
	}
	cmd.AddCommand(newGenerateKey())
	return cmd
}

func newGenerateKey() *cobra.Command {
	return &cobra.Command{
		Use:   "generate-key [id]",
		Short: "Print a new key, under an id or the day's date",
		Long: `Print a new line for the file of keys. Without an id the key is named after the
day. Keep the file as safe as the secrets, and apart from Temporal's database;
without its key, what is encrypted is lost.`,
		Example: "  (umask 077; almanac codec generate-key > keys)",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			id := time.Now().UTC().Format(time.DateOnly)
			if len(args) == 1 {
				id = args[0]
			}
			entry := id + ":" + codec.GenerateKey()
			if _, err := codec.ParseKeys(entry); err != nil {
				return err
			}
			_, err := fmt.Fprintln(cmd.OutOrStdout(), entry)
			return err
		},
	}
}

// defaultCodecAddress has the port after the Web UI's.
const defaultCodecAddress = "127.0.0.1:8234"

// codecToken returns the token that callers of the codec server must send. It is required if the address is
// set and is not a loopback address.
func (s *settings) codecToken(name string, address *string) string {
	token, _ := s.lookup(tokenVariable)
	s.checks = append(s.checks, func() error {
		host, _, err := net.SplitHostPort(*address)
		if token != "" || err != nil || isLoopback(host) { // another check reports bad addresses
			return nil
		}
		return fmt.Errorf("%s is %q, where others reach the codec server: set $%s to a secret of your choice, or listen on a loopback address",
			s.source(name), *address, tokenVariable)
	})
	return token
}

func isLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// origins splits a list of origins and removes trailing slashes.
func origins(list string) []string {
	all := words(list)
	for i, o := range all {
		all[i] = strings.TrimSuffix(o, "/")
	}
	return all
}

// listenCodec opens the codec server's listener and prints its address.
func listenCodec(ctx context.Context, address string, keys *codec.KeyRing, out io.Writer) (net.Listener, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen on %s for the codec server (choose another address): %w", address, err)
	}
	fmt.Fprintf(out, "Codec     http://%s  (keys %s)\n", l.Addr(), keys)
	return l, nil
}
