/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The table of decisions in words: --status, --explain, and the manual. See decide.h. */
#include "decide.h"

const struct decide_text decide_texts[DECIDE_RULES] = {
	[WHY_NO_PRICES] = {"no prices that count", "normal", "there are no prices that count"},
	[WHY_DOUBT] = {"prices stand still or jump about: see Belief", "normal",
		       "the prices are not what prices are"},
	[WHY_UNUSED] = {"nothing was written for 30 s, or ever", "normal",
			"nothing was written lately"},
	[WHY_LOST] = {"cached data is lost to what is written", "accelerate",
		      "programs read again what memory has no room for"},
	[WHY_VAIN] = {"ratio above 1.25, but what was deferred within 60 s was sent all the same",
		      "normal", "what is held back is closed or synced at once"},
	[WHY_MEMORY] = {"our memory is full, and the server is not far cheaper", "normal",
			"our memory is full of written data: the server bears that better"},
	[WHY_LONG] = {"deferred for \\-\\-defer\\-max; by turns for 9 s", "normal",
		      "data was held back for long enough: the kernel has its way"},
	[WHY_DEARER] = {"ratio above 1.25; while deferred above 0.8; for another turn see below",
			"defer", "the server is dearer than our memory"},
	[WHY_DWELL] = {"deferred for less than 3 s, by turns 9 s, and memory not full", "defer",
		       "the server was dearer a moment ago"},
	[WHY_CHEAP] = {"ratio to cached data alone at most 0.4 for 3 s, while accelerated 0.625; "
		       "and memory "
		       "pressed above 0.625, while accelerated 0.4",
		       "accelerate", "the server is far cheaper than what is cached"},
	[WHY_REST] = {"ratio above 1.25, but a deferral ended less than 6 s ago", "normal",
		      "data was held back for long enough: the kernel has its way"},
	[WHY_NOT_WANTED] = {"ratio above 1.25, but \\-\\-defer no", "normal",
			    "the server is dearer than our memory, but deferral is off"},
	[WHY_EVEN] = {"else", "normal", "neither server nor memory is much cheaper"},
	[AHEAD_NO_PRICES] = {"no prices that count", "as found", "there are no prices that count"},
	[AHEAD_DOUBT] = {"prices stand still or jump about: see Belief", "as found",
			 "the prices are not what prices are"},
	[AHEAD_OFF] = {"\\-\\-readahead no, or the knob cannot be read", "as found",
		       "it is not ours to turn"},
	[AHEAD_UNUSED] = {"nothing was read for 30 s", "as found", "nothing was read lately"},
	[AHEAD_SHORT] = {"longer than found, and memory is short", "as found", "memory is short"},
	[AHEAD_CHEAP] = {"shorter than found, and the server's price at most \\-\\-price\\-min",
			 "as found", "the server is cheap"},
	[AHEAD_WAIT] = {"turned less than 2 s ago", "stays", "it was turned a moment ago"},
	[AHEAD_UNKNOWN] = {"less than 1 MiB fetched since it was turned, only by mmap, or too few "
			   "files opened",
			   "stays", "too little is known of what it is good for"},
	[AHEAD_FAR] = {"ratio above 5, and the server's price above \\-\\-price\\-min", "a quarter",
		       "the server is far dearer than it is worth"},
	[AHEAD_DEARER] = {"ratio above 1.25, and the server's price above \\-\\-price\\-min",
			  "half", "the server is dearer than it is worth"},
	[AHEAD_WORTH] =
		{"ratio at most 0.4; longer than found only if memory is not short, and the "
		 "server's price at most \\-\\-price\\-min",
		 "twice", "it is worth more than the server asks"},
	[AHEAD_WASTE] = {"longer than found, and ratio above 0.625, or the server's price above "
			 "\\-\\-price\\-min",
			 "half, found at least", "it is not worth being longer than found"},
	[AHEAD_EVEN] = {"else", "stays", "it is worth about what the server asks"},
};

static void print_half(FILE *out, const char *title, unsigned int from, unsigned int to)
{
	fprintf(out, ".SS %s\n", title);
	for (unsigned int i = from; i < to; i++)
		fprintf(out, ".IP %u. 4\n%s:\n.B %s\n", i - from + 1, decide_texts[i].when,
			decide_texts[i].then);
}

void decide_print_rules(FILE *out)
{
	print_half(out, "Writes: the first that holds", 0, WRITE_RULES);
	print_half(out, "Read\\-ahead: the first that holds", WRITE_RULES, DECIDE_RULES);
}
