package settings

import (
	"errors"
)

// checkToken checks that there is a token if other machines reach the codec server, whose address is in a
// setting.
func (c *Config) checkToken(name string) error {
	if c.CodecToken != "" || isLoopback(c.CodecListen) {
		return nil
	}
	return c.set.Get(name).Wrong(errors.New(c.CodecListen+" can be reached by other machines, and the codec server has no token"),
		"a loopback address such as 127.0.0.1, or any if $ALMANAC_CODEC_TOKEN is set to a secret of your choice")
}
