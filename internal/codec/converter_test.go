package codec_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"google.golang.org/protobuf/proto"

	"almanac/internal/codec"
)

func TestValuesGoThroughTheConverter(t *testing.T) {
	t.Parallel()
	data, _ := ring(t, "new").Converters()
	encrypted, err := data.ToPayloads("a secret", 7)
	require.NoError(t, err)
	require.NotContains(t, encrypted.String(), "secret")

	later, _ := ring(t, "newer", "new").Converters()
	for name, c := range map[string]converter.DataConverter{"outside": later, "in a workflow": inWorkflow(t, later)} {
		var text string
		var number int
		require.NoError(t, c.FromPayloads(encrypted, &text, &number), name)
		require.Equal(t, "a secret", text)
		require.Equal(t, 7, number)
	}
}

// inWorkflow returns the converter that the SDK uses for workflow code.
func inWorkflow(t *testing.T, c converter.DataConverter) converter.DataConverter {
	t.Helper()
	aware, ok := c.(converter.ContextAware)
	require.True(t, ok)
	return aware.WithWorkflowContext(nil)
}

func TestAMissingKeyFailsAWorkflowTaskAndNotTheWorkflow(t *testing.T) {
	t.Parallel()
	data, _ := ring(t, "lost").Converters()
	encrypted, err := data.ToPayload("a secret")
	require.NoError(t, err)
	for name, keys := range map[string]*codec.KeyRing{"other keys": ring(t, "k"), "no keys": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			without, _ := keys.Converters()
			var text string
			var missing *codec.MissingKeyError
			require.ErrorAs(t, without.FromPayload(encrypted, &text), &missing)
			require.Equal(t, "lost", missing.KeyID)
			require.Panics(t, func() { _ = inWorkflow(t, without).FromPayload(encrypted, &text) })
		})
	}
}

// A value that can be decrypted but not decoded, such as a mistyped argument of a signal, must not stop a
// workflow.
func TestABadValueIsAnErrorInAWorkflow(t *testing.T) {
	t.Parallel()
	data, _ := ring(t, "k").Converters()
	bad, err := data.ToPayload("seven")
	require.NoError(t, err)
	var number int
	require.Error(t, inWorkflow(t, data).FromPayload(bad, &number))
}

func TestAPayloadInClearFailsAWorkflowTaskAndNotTheWorkflow(t *testing.T) {
	t.Parallel()
	data, _ := ring(t, "k").Converters()
	var number int
	var refused *codec.ClearPayloadError
	require.ErrorAs(t, data.FromPayload(payload("7"), &number), &refused)
	require.Panics(t, func() { _ = inWorkflow(t, data).FromPayload(payload("7"), &number) })
	migrating, _ := ring(t, "k").AcceptingClear().Converters()
	require.NoError(t, inWorkflow(t, migrating).FromPayload(payload("7"), &number))
	require.Equal(t, 7, number)
}

func TestFailuresAreEncrypted(t *testing.T) {
	t.Parallel()
	_, failures := ring(t, "k").Converters()
	cause := temporal.NewApplicationError("the cause", "Cause")
	failure := failures.ErrorToFailure(temporal.NewApplicationErrorWithOptions("a secret", "Failed",
		temporal.ApplicationErrorOptions{Cause: cause, Details: []any{"another secret"}}))
	require.NotContains(t, failure.String(), "secret")
	require.NotContains(t, failure.String(), "the cause")
	require.Equal(t, "Failed", failure.GetApplicationFailureInfo().GetType(), "the server decides by it")

	err := failures.FailureToError(failure)
	require.ErrorContains(t, err, "a secret")
	require.ErrorContains(t, err, "the cause")
	var details string
	var failed *temporal.ApplicationError
	require.ErrorAs(t, err, &failed)
	require.NoError(t, failed.Details(&details))
	require.Equal(t, "another secret", details)
}

// The SDK gives a converter its workflow and serialization contexts, in varying order.
func TestValuesAndFailuresAreValidInTheirWorkflowOnly(t *testing.T) {
	t.Parallel()
	data, failures := ring(t, "k").Converters()
	in := func(id string) (converter.DataConverter, converter.FailureConverter) {
		of := converter.WorkflowSerializationContext{WorkflowID: id}
		return converter.WithDataConverterSerializationContext(data, of), converter.WithFailureConverterSerializationContext(failures, of)
	}
	own, ownFailures := in("own")
	other, otherFailures := in("other")
	encrypted, err := own.ToPayload("a secret")
	require.NoError(t, err)
	failure := ownFailures.ErrorToFailure(temporal.NewApplicationErrorWithOptions("a secret", "Failed", temporal.ApplicationErrorOptions{Details: []any{1}}))

	var text string
	require.NoError(t, inWorkflow(t, own).FromPayload(encrypted, &text))
	var misplaced *codec.MisplacedError
	require.ErrorAs(t, other.FromPayload(encrypted, &text), &misplaced)
	require.Equal(t, codec.MisplacedError{Workflow: "own", Found: "other"}, *misplaced)
	require.Panics(t, func() { _ = inWorkflow(t, other).FromPayload(encrypted, &text) })
	late := converter.WithDataConverterSerializationContext(inWorkflow(t, data), converter.WorkflowSerializationContext{WorkflowID: "other"})
	require.Panics(t, func() { _ = late.FromPayload(encrypted, &text) })

	failed, ok := errors.AsType[*temporal.ApplicationError](otherFailures.FailureToError(proto.CloneOf(failure)))
	require.True(t, ok)
	require.NotContains(t, failed.Error(), "a secret")
	var number int
	require.ErrorAs(t, failed.Details(&number), &misplaced)
	require.ErrorContains(t, ownFailures.FailureToError(failure), "a secret")
}

// A reader of event histories has the keys but may lack the failure converter.
func TestEncryptedFailuresAreReadByAnyConverterWithTheKeys(t *testing.T) {
	t.Parallel()
	data, failures := ring(t, "k").Converters()
	failure := failures.ErrorToFailure(temporal.NewApplicationError("what went wrong", "Failed"))
	reader := temporal.NewDefaultFailureConverter(temporal.DefaultFailureConverterOptions{DataConverter: data})
	require.ErrorContains(t, reader.FailureToError(failure), "what went wrong")
	require.Equal(t, "what went wrong", failure.GetMessage(), "it is decoded in place as well")
}

func TestWithoutKeysFailuresAreInClear(t *testing.T) {
	t.Parallel()
	_, failures := (*codec.KeyRing)(nil).Converters()
	require.Equal(t, "what went wrong", failures.ErrorToFailure(temporal.NewApplicationError("what went wrong", "Failed")).GetMessage())
	_, encrypting := ring(t, "k").Converters()
	unreadable := encrypting.ErrorToFailure(temporal.NewApplicationError("what went wrong", "Failed"))
	require.ErrorContains(t, failures.FailureToError(unreadable), "Encoded failure")
}

func TestNothingIsDecodedTwice(t *testing.T) {
	t.Parallel()
	data, _ := ring(t, "k").Converters()
	raw, err := data.ToPayload(converter.NewRawValue(encode(t, ring(t, "other"), payload("1"))))
	require.NoError(t, err)
	var back converter.RawValue
	require.NoError(t, data.FromPayload(raw, &back), "the payload within is somebody else's")
	require.Equal(t, "other", string(back.Payload().GetMetadata()["encryption-key-id"]))
}
