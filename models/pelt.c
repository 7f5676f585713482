/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "models/pelt.h"

#define EST_MARGIN 10 /* a hundredth of the full scale */

/* Verified by test_pelt: each is the largest n with n^32 <= (2^32 - 1)^32 / 2^k. */
const uint32_t wi_pelt_inverse[32] = {
	0xffffffff, 0xfa83b2da, 0xf5257d14, 0xefe4b99a, 0xeac0c6e6, 0xe5b906e6, 0xe0ccdeeb, 0xdbfbb796,
	0xd744fcc9, 0xd2a81d91, 0xce248c14, 0xc9b9bd85, 0xc5672a10, 0xc12c4cc9, 0xbd08a39e, 0xb8fbaf46,
	0xb504f333, 0xb123f581, 0xad583ee9, 0xa9a15ab4, 0xa5fed6a9, 0xa2704302, 0x9ef5325f, 0x9b8d39b9,
	0x9837f050, 0x94f4efa8, 0x91c3d373, 0x8ea4398a, 0x8b95c1e3, 0x88980e80, 0x85aac367, 0x82cd8698,
};

const uint32_t wi_pelt_nice_weight[40] = {
	88761, 71755, 56483, 46273, 36291, 29154, 23254, 18705, 14949, 11916, 9548, 7620, 6100, 4904,
	3906,  3121,  2501,  1991,  1586,  1277,  1024,	 820,	655,   526,   423,  335,  272,	215,
	172,   137,   110,   87,    70,	   56,	  45,	 36,	29,    23,    18,   15,
};

/* Units that a steady input adds over the time: the rest of the old period, whole periods, the part of the new one. */
static uint32_t segments(uint64_t periods, uint32_t old_contrib, uint32_t new_contrib)
{
	return (uint32_t)(wi_pelt_decay(WI_PELT_UNIT - old_contrib, periods) + WI_PELT_MAX -
			  wi_pelt_decay(WI_PELT_MAX, periods) - WI_PELT_UNIT + new_contrib);
}

struct step {
	uint64_t periods; /* ended */
	uint32_t add;	  /* units for an input of 1 */
};

/* Moves last and contrib on; false: no whole unit has passed. */
static bool step(uint64_t *last_ns, uint32_t *contrib, uint64_t now_ns, struct step *s)
{
	uint64_t units;

	if (now_ns < *last_ns) {
		*last_ns = now_ns;
		return false;
	}
	units = (now_ns - *last_ns) / WI_PELT_UNIT;
	if (!units)
		return false;
	*last_ns += units * WI_PELT_UNIT;
	s->periods = (units + *contrib) / WI_PELT_UNIT;
	s->add = (uint32_t)units;
	if (s->periods) {
		uint32_t rest = (uint32_t)((units + *contrib) % WI_PELT_UNIT);

		s->add = segments(s->periods, *contrib, rest);
		*contrib = rest;
	} else {
		*contrib += (uint32_t)units;
	}
	return true;
}

static void average_task(struct wi_pelt_task *t)
{
	uint32_t div = wi_pelt_divider(t->contrib);

	t->load_avg = (uint32_t)((uint64_t)t->weight * t->load_sum / div);
	t->runnable_avg = t->load_sum * WI_PELT_UNIT / div;
	t->util_avg = t->util_sum / div;
	t->est_unchanged = false;
}

void wi_pelt_update_task(struct wi_pelt_task *t, uint64_t now_ns, bool queued, bool running)
{
	struct step s;

	if (!step(&t->last_ns, &t->contrib, now_ns, &s))
		return;
	if (s.periods) {
		t->load_sum = (uint32_t)wi_pelt_decay(t->load_sum, s.periods);
		t->util_sum = (uint32_t)wi_pelt_decay(t->util_sum, s.periods);
	}
	if (queued)
		t->load_sum += s.add;
	if (running)
		t->util_sum += s.add * WI_PELT_UNIT;
	if (s.periods)
		average_task(t);
}

static uint64_t less(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

static uint64_t at_least(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* The sums follow the averages, but never below what the averages need at the shortest divider. */
static void apply_removed(struct wi_pelt_cpu *c)
{
	uint64_t div = wi_pelt_divider(c->contrib);

	c->load_avg = less(c->load_avg, c->removed_load);
	c->load_sum = at_least(less(c->load_sum, c->removed_load * div), c->load_avg * WI_PELT_MIN_DIVIDER);
	c->runnable_avg = less(c->runnable_avg, c->removed_runnable);
	c->runnable_sum =
		at_least(less(c->runnable_sum, c->removed_runnable * div), c->runnable_avg * WI_PELT_MIN_DIVIDER);
	c->util_avg = less(c->util_avg, c->removed_util);
	c->util_sum = at_least(less(c->util_sum, c->removed_util * div), c->util_avg * WI_PELT_MIN_DIVIDER);
	c->removed_load = c->removed_runnable = c->removed_util = 0;
	c->has_removed = false;
}

void wi_pelt_update_cpu(struct wi_pelt_cpu *c, uint64_t now_ns)
{
	struct step s;

	if (c->has_removed)
		apply_removed(c);
	if (!step(&c->last_ns, &c->contrib, now_ns, &s))
		return;
	if (s.periods) {
		c->load_sum = wi_pelt_decay(c->load_sum, s.periods);
		c->queued_sum = wi_pelt_decay(c->queued_sum, s.periods);
		c->runnable_sum = wi_pelt_decay(c->runnable_sum, s.periods);
		c->util_sum = wi_pelt_decay(c->util_sum, s.periods);
	}
	c->load_sum += c->weight * s.add;
	c->queued_sum += c->weight * s.add;
	c->runnable_sum += (uint64_t)c->nr * s.add * WI_PELT_UNIT;
	if (c->running)
		c->util_sum += (uint64_t)s.add * WI_PELT_UNIT;
	if (s.periods) {
		uint32_t div = wi_pelt_divider(c->contrib);

		c->load_avg = c->load_sum / div;
		c->queued_avg = c->queued_sum / div;
		c->runnable_avg = c->runnable_sum / div;
		c->util_avg = c->util_sum / div;
	}
}

void wi_pelt_attach(struct wi_pelt_cpu *c, struct wi_pelt_task *t)
{
	uint32_t div = wi_pelt_divider(c->contrib);

	t->last_ns = c->last_ns;
	t->contrib = c->contrib;
	t->util_sum = t->util_avg * div;
	t->load_sum = t->weight ? (uint32_t)((uint64_t)t->load_avg * div / t->weight) : 0;
	t->attached = true;
	c->load_avg += t->load_avg;
	c->load_sum += (uint64_t)t->weight * t->load_sum;
	c->runnable_avg += t->runnable_avg;
	c->runnable_sum += (uint64_t)t->runnable_avg * div;
	c->util_avg += t->util_avg;
	c->util_sum += t->util_sum;
}

void wi_pelt_detach(struct wi_pelt_cpu *c, struct wi_pelt_task *t)
{
	uint64_t div = wi_pelt_divider(c->contrib);

	c->load_avg = less(c->load_avg, t->load_avg);
	c->load_sum = at_least(less(c->load_sum, (uint64_t)t->weight * t->load_sum), c->load_avg * WI_PELT_MIN_DIVIDER);
	c->runnable_avg = less(c->runnable_avg, t->runnable_avg);
	c->runnable_sum = at_least(less(c->runnable_sum, t->runnable_avg * div), c->runnable_avg * WI_PELT_MIN_DIVIDER);
	c->util_avg = less(c->util_avg, t->util_avg);
	c->util_sum = at_least(less(c->util_sum, t->util_sum), c->util_avg * WI_PELT_MIN_DIVIDER);
	t->attached = false;
}

void wi_pelt_remove(struct wi_pelt_cpu *c, struct wi_pelt_task *t, uint64_t now_ns, bool idle)
{
	if (!t->attached)
		return;
	wi_pelt_update_task(t, c->last_ns > t->last_ns ? c->last_ns : t->last_ns, false, false);
	c->removed_load += t->load_avg;
	c->removed_runnable += t->runnable_avg;
	c->removed_util += t->util_avg;
	c->has_removed = true;
	if (idle)
		wi_pelt_update_task(t, now_ns, false, false);
	t->attached = false;
}

void wi_pelt_enqueue(struct wi_pelt_cpu *c, struct wi_pelt_task *t)
{
	c->weight += t->weight;
	c->nr++;
	c->queued_avg += t->load_avg;
	c->queued_sum += (uint64_t)t->weight * t->load_sum;
	c->util_est += wi_pelt_est(t);
}

void wi_pelt_dequeue(struct wi_pelt_cpu *c, struct wi_pelt_task *t)
{
	c->weight = less(c->weight, t->weight);
	c->nr -= c->nr > 0;
	c->queued_avg = less(c->queued_avg, t->load_avg);
	c->queued_sum = less(c->queued_sum, (uint64_t)t->weight * t->load_sum);
	c->util_est = (uint32_t)less(c->util_est, wi_pelt_est(t));
}

void wi_pelt_reweight(struct wi_pelt_cpu *c, struct wi_pelt_task *t, bool queued, uint32_t weight)
{
	uint32_t old_avg = t->load_avg;
	uint64_t old_sum = (uint64_t)t->weight * t->load_sum, sum = (uint64_t)weight * t->load_sum;

	if (queued)
		c->weight = less(c->weight, t->weight) + weight;
	t->weight = weight;
	t->load_avg = (uint32_t)(sum / wi_pelt_divider(t->contrib));
	if (!t->attached)
		return;
	c->load_avg = less(c->load_avg, old_avg) + t->load_avg;
	c->load_sum = less(c->load_sum, old_sum) + sum;
	if (!queued)
		return;
	c->queued_avg = less(c->queued_avg, old_avg) + t->load_avg;
	c->queued_sum = less(c->queued_sum, old_sum) + sum;
}

void wi_pelt_init_new(const struct wi_pelt_cpu *c, struct wi_pelt_task *t, uint32_t weight, bool unscaled)
{
	uint64_t cap = less(WI_PELT_UNIT, c->util_avg) / 2, util = cap;

	if (c->util_avg && cap) {
		util = c->util_avg * weight * (unscaled ? 1024 : 1) / (c->load_avg + 1);
		if (util > cap)
			util = cap;
	}
	*t = (struct wi_pelt_task){
		.weight = weight, .load_avg = weight, .util_avg = (uint32_t)util, .runnable_avg = (uint32_t)util
	};
}

static bool within_margin(int a, int b)
{
	int d = a - b;

	return d < EST_MARGIN && d > -EST_MARGIN;
}

/* Both kinds: a quarter of the way down; at once up. */
static uint16_t quarter(uint16_t ewma, uint16_t util)
{
	return (uint16_t)((4 * ewma + util - ewma) / 4);
}

static void est_single(struct wi_pelt_task *t)
{
	uint16_t util = (uint16_t)t->util_avg;

	if (t->est_ewma <= util) {
		t->est_ewma = util;
	} else {
		if (t->est_ewma - util < EST_MARGIN || util > WI_PELT_UNIT)
			return;
		if (util + EST_MARGIN >= (int)t->runnable_avg) /* else it did not get all the time that it wanted */
			t->est_ewma = quarter(t->est_ewma, util);
	}
	t->est_unchanged = true;
}

static void est_two(struct wi_pelt_task *t)
{
	uint16_t util = (uint16_t)t->util_avg, old = t->est_enqueued;

	if (t->est_ewma < util) {
		t->est_ewma = util;
	} else if (within_margin(util, t->est_ewma)) {
		if (within_margin(old, util))
			return;
	} else if (util > WI_PELT_UNIT) {
		return;
	} else {
		t->est_ewma = quarter(t->est_ewma, util);
	}
	t->est_enqueued = util;
	t->est_unchanged = true;
}

void wi_pelt_est_sleep(struct wi_pelt_task *t, bool single)
{
	if (t->est_unchanged)
		return;
	if (single)
		est_single(t);
	else
		est_two(t);
}
