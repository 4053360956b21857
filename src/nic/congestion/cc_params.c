/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Parameters of congestion control: their table, parsing and printing. */
#include "nic/congestion/congestion.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define SEPARATORS   " \t\n,;"
#define MAX_RATE     1000000u  /* Mb/s; dcqcn.c relies on this bound */
#define MAX_TIME     10000000u /* us */
#define MAX_RTT	     100000u   /* us */
#define NAMES_LEN    1024
#define MAX_WORD_LEN 64

#define OF(owner, name, unit, min, max, value, mlx5)                                               \
	{                                                                                          \
#name, unit, ADV_CC_##owner, offsetof(struct adv_cc_params, name), min, max,       \
			value, mlx5                                                                \
	}
#define PARAMETER(name, unit, min, max, value, mlx5) OF(DCQCN, name, unit, min, max, value, mlx5)
/* Of an algorithm that mlx5 does not have. */
#define OTHER(owner, name, unit, min, max, value) OF(owner, name, unit, min, max, value, value)

/*
 * Name, unit, range, default, and the default of mlx5's firmware (mlxconfig).
 * Defaults that the paper does not name are those of mlx5 (rate_reduce_monitor_period,
 * rpg_min_dec_fac, cnp_dscp, cnp_802p_prio) or of the simulator of the paper's authors
 * (rpg_hai_rate, rpg_min_rate).
 */
static const struct adv_cc_parameter table[] = {
	PARAMETER(clamp_tgt_rate, "", 0, 1, 1, 0),
	PARAMETER(clamp_tgt_rate_after_time_inc, "", 0, 1, 1, 1),
	PARAMETER(rpg_time_reset, "us", 1, MAX_TIME, 55, 300),
	PARAMETER(rpg_byte_reset, "bytes", 0, INT32_MAX, 10000000, 32767),
	PARAMETER(rpg_threshold, "", 1, 31, 5, 1),
	PARAMETER(rpg_max_rate, "Mb/s", 0, MAX_RATE, 0, 0),
	PARAMETER(rpg_ai_rate, "Mb/s", 1, MAX_RATE, 40, 5),
	PARAMETER(rpg_hai_rate, "Mb/s", 1, MAX_RATE, 200, 50),
	PARAMETER(rpg_gd, "", 10, 15, 11, 11),
	PARAMETER(rpg_min_dec_fac, "%", 1, 100, 50, 50),
	PARAMETER(rpg_min_rate, "Mb/s", 1, MAX_RATE, 100, 1),
	PARAMETER(rate_to_set_on_first_cnp, "Mb/s", 0, MAX_RATE, 0, 0),
	PARAMETER(dce_tcp_g, "", 0, 1023, 1020, 1019),
	PARAMETER(dce_tcp_rtt, "us", 1, MAX_TIME, 55, 1),
	PARAMETER(rate_reduce_monitor_period, "us", 0, MAX_TIME, 4, 4),
	PARAMETER(initial_alpha_value, "", 1, 1024, 1024, 1023),
	PARAMETER(min_time_between_cnps, "us", 0, MAX_TIME, 50, 4),
	PARAMETER(cnp_dscp, "", 0, 63, 48, 48),
	PARAMETER(cnp_802p_prio, "", 0, 7, 6, 6),
	OTHER(DCTCP, dctcp_g, "", 1, 1024, 64),
	OTHER(TIMELY, timely_t_low, "us", 0, MAX_RTT, 50),
	OTHER(TIMELY, timely_t_high, "us", 1, MAX_RTT, 500),
	OTHER(TIMELY, timely_min_rtt, "us", 1, MAX_RTT, 20),
	OTHER(TIMELY, timely_ai_rate, "Mb/s", 1, MAX_RATE, 10),
	OTHER(TIMELY, timely_alpha, "", 1, 1024, 896),
	OTHER(TIMELY, timely_beta, "", 1, 1024, 819),
	OTHER(TIMELY, timely_min_rate, "Mb/s", 1, MAX_RATE, 10),
	OTHER(SWIFT, swift_target, "us", 1, MAX_RTT, 25),
	OTHER(SWIFT, swift_ai, "", 1, 65536, 1024),
	OTHER(SWIFT, swift_beta, "", 1, 1024, 819),
	OTHER(SWIFT, swift_max_mdf, "", 1, 1023, 512),
	OTHER(SWIFT, swift_fs_range, "us", 0, MAX_RTT, 100),
	OTHER(SWIFT, swift_fs_min, "", 1, 1024, 102),
	OTHER(SWIFT, swift_fs_max, "", 1024, 1 << 20, 102400),
	OTHER(SWIFT, swift_min_window, "", 1, 1024, 10),
	OTHER(HPCC, hpcc_base_rtt, "us", 1, MAX_RTT, 13),
	OTHER(HPCC, hpcc_eta, "%", 1, 100, 95),
	OTHER(HPCC, hpcc_max_stage, "", 0, 100, 5),
	OTHER(HPCC, hpcc_ai, "bytes", 1, 1000000, 80),
};

#define PARAMETERS ADV_ARRAY_SIZE(table)

_Static_assert(PARAMETERS * sizeof(uint32_t) == sizeof(struct adv_cc_params), "none is missing");
_Static_assert(PARAMETERS <= 64, "bits of a mask");

static const char *const names[] = {
	[ADV_CC_DCQCN] = "dcqcn",   [ADV_CC_NONE] = "none",   [ADV_CC_DCTCP] = "dctcp",
	[ADV_CC_TIMELY] = "timely", [ADV_CC_SWIFT] = "swift", [ADV_CC_HPCC] = "hpcc",
};

const char *adv_cc_name(enum adv_cc_algorithm algorithm)
{
	return names[algorithm];
}

const struct adv_cc_parameter *adv_cc_parameter(unsigned i)
{
	return i < PARAMETERS ? &table[i] : NULL;
}

static uint32_t *parameter_slot(struct adv_cc_params *params, unsigned i)
{
	return (uint32_t *)(void *)((char *)params + table[i].offset);
}

static uint32_t parameter_value(const struct adv_cc_params *params, unsigned i)
{
	return *(const uint32_t *)(const void *)((const char *)params + table[i].offset);
}

struct adv_cc_config adv_cc_default(void)
{
	struct adv_cc_config c = {.algorithm = ADV_CC_DCQCN};

	for (unsigned i = 0; i < PARAMETERS; i++)
		*parameter_slot(&c.params, i) = table[i].value;
	return c;
}

struct adv_cc_config adv_cc_mlx5(void)
{
	struct adv_cc_config c = {.algorithm = ADV_CC_DCQCN};

	for (unsigned i = 0; i < PARAMETERS; i++)
		*parameter_slot(&c.params, i) = table[i].mlx5;
	return c;
}

bool adv_cc_valid(const struct adv_cc_config *config)
{
	const struct adv_cc_params *p = &config->params;

	for (unsigned i = 0; i < PARAMETERS; i++)
		if (parameter_value(p, i) < table[i].min || parameter_value(p, i) > table[i].max)
			return false;
	if (p->timely_t_low > p->timely_t_high)
		return false;
	return p->rpg_max_rate == 0 || p->rpg_min_rate <= p->rpg_max_rate;
}

/* ---- parsing ---- */

static bool unknown_parameter(enum adv_cc_algorithm algorithm, const char *word, int len, char *why,
			      size_t why_len)
{
	char all[NAMES_LEN] = "";
	size_t used = 0;

	for (unsigned i = 0; i < PARAMETERS; i++)
		if (table[i].algorithm == algorithm)
			used += (size_t)snprintf(all + used, sizeof(all) - used, "%s%s",
						 used ? ", " : "", table[i].name);
	snprintf(why, why_len, "%s has no parameter '%.*s'; the parameters are %s",
		 names[algorithm], len, word, all);
	return false;
}

/* Reads a value of decimal digits only. */
static bool read_value(const char *text, int len, uint32_t *value)
{
	uint64_t n = 0;

	if (len == 0 || len > 10)
		return false;
	for (int i = 0; i < len; i++) {
		if (text[i] < '0' || text[i] > '9')
			return false;
		n = n * 10 + (uint64_t)(text[i] - '0');
	}
	*value = n > UINT32_MAX ? UINT32_MAX : (uint32_t)n;
	return true;
}

/* Parses one word, `name=value`. `seen` has a bit for each parameter that was named already. */
static bool read_word(struct adv_cc_config *config, const char *word, int len, uint64_t *seen,
		      char *why, size_t why_len)
{
	const char *equals = memchr(word, '=', (size_t)len);
	int name_len = equals ? (int)(equals - word) : len;
	const struct adv_cc_parameter *p;
	unsigned i = 0;
	uint32_t value;

	while (i < PARAMETERS && (table[i].algorithm != config->algorithm ||
				  strlen(table[i].name) != (size_t)name_len ||
				  memcmp(table[i].name, word, (size_t)name_len) != 0))
		i++;
	if (i == PARAMETERS)
		return unknown_parameter(config->algorithm, word,
					 name_len < MAX_WORD_LEN ? name_len : MAX_WORD_LEN, why,
					 why_len);
	p = &table[i];
	if (!equals || !read_value(equals + 1, len - name_len - 1, &value) || value < p->min ||
	    value > p->max) {
		snprintf(why, why_len, "%s: expected %s=N, N a number from %u to %u%s%s", p->name,
			 p->name, p->min, p->max, *p->unit ? " in " : "", p->unit);
		return false;
	}
	if (*seen & UINT64_C(1) << i) {
		snprintf(why, why_len, "%s is given twice", p->name);
		return false;
	}
	*seen |= UINT64_C(1) << i;
	*parameter_slot(&config->params, i) = value;
	return true;
}

static bool read_name(enum adv_cc_algorithm *algorithm, const char *word, int len, char *why,
		      size_t why_len)
{
	for (unsigned i = 0; i < ADV_ARRAY_SIZE(names); i++) {
		if (strlen(names[i]) == (size_t)len && memcmp(names[i], word, (size_t)len) == 0) {
			if (i == ADV_CC_HPCC)
				break;
			*algorithm = (enum adv_cc_algorithm)i;
			return true;
		}
	}
	if (len == 4 && memcmp(word, "hpcc", 4) == 0) {
		snprintf(why, why_len,
			 "hpcc needs switches with telemetry: only adverb sim has them");
		return false;
	}
	snprintf(why, why_len, "'%.*s': expected none, dcqcn, dctcp, timely or swift",
		 len < MAX_WORD_LEN ? len : MAX_WORD_LEN, word);
	return false;
}

bool adv_cc_parse(struct adv_cc_config *config, const char *text, char *why, size_t why_len)
{
	const char *word = text + strspn(text, SEPARATORS);
	int len = (int)strcspn(word, SEPARATORS);
	uint64_t seen = 0;

	*config = adv_cc_default();
	if (!read_name(&config->algorithm, word, len, why, why_len))
		return false;
	for (;;) {
		word += len;
		word += strspn(word, SEPARATORS);
		len = (int)strcspn(word, SEPARATORS);
		if (len == 0)
			break;
		if (config->algorithm == ADV_CC_NONE) {
			snprintf(why, why_len, "none has no parameters");
			return false;
		}
		if (!read_word(config, word, len, &seen, why, why_len))
			return false;
	}
	if (config->params.timely_t_low > config->params.timely_t_high) {
		snprintf(why, why_len, "timely_t_low (%u us) is above timely_t_high (%u us)",
			 config->params.timely_t_low, config->params.timely_t_high);
		return false;
	}
	if (!adv_cc_valid(config)) {
		snprintf(why, why_len, "rpg_min_rate (%u Mb/s) is above rpg_max_rate (%u Mb/s)",
			 config->params.rpg_min_rate, config->params.rpg_max_rate);
		return false;
	}
	return true;
}

/* ---- printing ---- */

int adv_cc_print(const struct adv_cc_config *config, char *text, size_t len)
{
	int used = snprintf(text, len, "%s", names[config->algorithm]);

	if (config->algorithm == ADV_CC_NONE)
		return used;
	for (unsigned i = 0; i < PARAMETERS; i++) {
		uint32_t value = parameter_value(&config->params, i);
		size_t at = (size_t)used < len ? (size_t)used : len;

		if (table[i].algorithm == config->algorithm && value != table[i].value)
			used += snprintf(text + at, len - at, " %s=%u", table[i].name, value);
	}
	return used;
}
