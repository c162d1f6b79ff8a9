package job

import (
	"hash/fnv"
	"math/bits"
	"time"
)

// MaxFlexibleWindow is the longest flexible window.
const MaxFlexibleWindow = 24 * time.Hour

// Spread returns how long after its due time an occurrence of a job starts that has a flexible window: a time below the
// window that follows from the job's name alone, in whole milliseconds. So it stays the same over restarts and other
// changes of the job.
//
// Names that differ in a number, as job-0001 and job-0002 do, are spread by multiples of the golden ratio, which divides
// the window evenly, however many they are. All else is hashed.
func Spread(k Key, window time.Duration) time.Duration {
	if window < time.Millisecond {
		return 0
	}
	name, number := withoutNumber(k.WorkflowID())
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(name))
	const golden = 0x9E3779B97F4A7C15 // 2^64 divided by the golden ratio
	at := mix(hash.Sum64()) + number*golden
	part, _ := bits.Mul64(at, uint64(window/time.Millisecond))
	return time.Duration(part) * time.Millisecond
}

// withoutNumber returns a name without the last of the numbers in it, and that number; of one with many digits its last
// 64 bits.
func withoutNumber(name string) (rest string, number uint64) {
	digit := func(c byte) bool { return '0' <= c && c <= '9' }
	end := len(name)
	for end > 0 && !digit(name[end-1]) {
		end--
	}
	begin := end
	for begin > 0 && digit(name[begin-1]) {
		begin--
	}
	for _, c := range []byte(name[begin:end]) {
		number = number*10 + uint64(c-'0')
	}
	return name[:begin] + "#" + name[end:], number
}

// mix spreads the bits of a hash: those of names that are alike differ in few.
func mix(h uint64) uint64 {
	h ^= h >> 33
	h *= 0xff51afd7ed558ccd
	h ^= h >> 33
	h *= 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}
