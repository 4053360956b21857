/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "fabric/scenario/builder.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#define PS_BITS (8 * ADV_PS_PER_S)

bool adv_scenario_fail(struct adv_scenario_builder *b, uint64_t line, const char *format, ...)
{
	int n = line ? snprintf(b->why, ADV_SCENARIO_WHY, "%s:%" PRIu64 ": ", b->s->name, line)
		     : snprintf(b->why, ADV_SCENARIO_WHY, "%s: ", b->s->name);
	va_list args;

	va_start(args, format);
	vsnprintf(b->why + n, (size_t)(ADV_SCENARIO_WHY - n), format, args);
	va_end(args);
	return false;
}

uint64_t adv_scenario_line(const struct adv_scenario_builder *b, const uint64_t *value)
{
	return b->s
		->line[(size_t)((const uint8_t *)value - (const uint8_t *)b->s) / sizeof(*value)];
}

/* Returns the machine's memory in bytes, or the limit of the process if that is lower. */
static uint64_t available_memory(void)
{
	uint64_t have = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
	struct rlimit limit;

	if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur < have)
		return limit.rlim_cur;
	return have;
}

bool adv_scenario_afford(struct adv_scenario_builder *b, uint64_t line, unsigned __int128 bytes)
{
	uint64_t have = available_memory();
	char need_text[ADV_UNITS_TEXT], have_text[ADV_UNITS_TEXT];

	b->memory += bytes;
	if (b->memory <= have)
		return true;
	return adv_scenario_fail(b, line, "needs about %s of memory; the machine has %s",
				 adv_units_print(ADV_UNIT_BYTES,
						 b->memory < ADV_QUANTITY_MAX ? (uint64_t)b->memory
									      : ADV_QUANTITY_MAX,
						 need_text),
				 adv_units_print(ADV_UNIT_BYTES, have, have_text));
}

bool adv_scenario_cable(struct adv_scenario_builder *b, uint64_t line, uint64_t speed,
			uint64_t length, struct adv_cable *cable)
{
	char text[ADV_UNITS_TEXT];

	if (PS_BITS % speed)
		return adv_scenario_fail(b, line,
					 "speed %s: a byte must take a whole number of picoseconds",
					 adv_units_print(ADV_UNIT_RATE, speed, text));
	cable->ps_per_byte = (uint32_t)(PS_BITS / speed);
	cable->delay = length * ADV_FIBRE_PS_PER_MM;
	return true;
}
