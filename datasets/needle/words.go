package needle

import "strings"

// The words of keys: an adjective and a noun.
var (
	adjectives = strings.Fields(`
amber ancient bitter brave bright calm careful clever cold curious dapper deep
dusty eager early faint fancy fast fierce fluffy fragrant frozen gentle giant
glad golden grand hasty hollow honest humble icy jolly keen kind lazy light
lively lonely loud lucky merry mild modest narrow neat noble odd pale patient
plain polite proud quick quiet rapid rare rough round rusty salty sharp shiny
shy silent silver simple sleepy slow smooth soft solid sour steady stormy strong
sunny sweet swift tall tame tender thirsty tidy tiny tough vivid warm wary wild
wise witty wooden young zesty`)
	nouns = strings.Fields(`
acorn anchor apple arrow badger bamboo barrel basket beacon beetle bell bison
blossom boat bottle bridge broom bucket cabin camel candle canyon carpet castle
cello cherry cliff clock cloud comet copper coral cottage cradle crane cricket
desert dolphin drum eagle ember falcon feather fiddle flute forest fountain fox
garden glacier goose hammer harbor hazel heron hill island ivy jacket kettle
ladder lantern leaf lemon library lizard magnet maple meadow mirror mountain
needle oak ocean orchard otter owl paddle pearl pebble pepper pillow planet pond
prairie puzzle quilt raven ribbon river rocket saddle sailor shadow shell spoon
sparrow squash teapot thunder tiger tower tulip valley violin walnut whale
window wolf yarn zebra`)
)
