package wiring

import (
	"testing"

	"github.com/stretchr/testify/require"

	"almanac/job/kind"
)

// Everyone who reaches the API may write jobs, which must not reach services of this machine.
func TestJobsMayNotCallThisMachineByDefaultWhereOthersReachTheAPI(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name      string
		exposed   bool
		variables map[string]string
		args      []string
		allowed   bool
	}{
		{"for this machine alone", false, nil, nil, true},
		{"for others as well", true, nil, nil, false},
		{"for others, and allowed by flag", true, nil, []string{"--egress-allow", "127.0.0.1"}, true},
		{"for others, and allowed by variable", true, map[string]string{"ALMANAC_EGRESS_ALLOW": "127.0.0.0/8"}, nil, true},
		{"for this machine alone, and not allowed", false, nil, []string{"--egress-allow", ""}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			args := tt.args
			if tt.exposed {
				args = append(args, "--listen", "0.0.0.0:8080", "--unauthenticated")
			}
			p := loaded(t, "dev", tt.variables, args...)
			err := p.Senders.Check(kind.HTTP, &kind.Request{URI: "http://127.0.0.1:9000/"})
			if tt.allowed {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, "loopback addresses are refused")
			}
		})
	}
}

func TestAnOperatorMayNameTheDomainsToWhichMailGoes(t *testing.T) {
	t.Parallel()
	mail := &kind.Email{To: []string{"a@elsewhere.test"}}
	for _, command := range []string{"api", "worker", "dev"} {
		p := loaded(t, command, nil, "--mail-domains", "example.com,*.example.org")
		require.ErrorContains(t, p.Senders.Check(kind.Mail, mail), "--mail-domains", command)
		p = loaded(t, command, nil)
		require.NoError(t, p.Senders.Check(kind.Mail, mail))
	}
}
