/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "runtime/identity/identity.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/sys.h"

static pthread_once_t transport_once = PTHREAD_ONCE_INIT;
static enum adv_transport transport;

int adv_transport_named(const char *name)
{
	static const char *const names[] = {
		[ADV_TRANSPORT_ROCE] = "roce",
		[ADV_TRANSPORT_IWARP] = "iwarp",
	};

	for (size_t i = 0; i < ADV_ARRAY_SIZE(names); i++)
		if (strcmp(name, names[i]) == 0)
			return (int)i;
	return -1;
}

static void read_transport(void)
{
	const char *name = getenv(ADV_TRANSPORT_VARIABLE);
	int found = name && *name ? adv_transport_named(name) : ADV_TRANSPORT_ROCE;

	transport = found < 0 ? ADV_TRANSPORT_UNKNOWN : (enum adv_transport)found;
}

enum adv_transport adv_transport(void)
{
	pthread_once(&transport_once, read_transport);
	return transport;
}

#define UVERBS_MAX 1024 /* most uverbs devices, the kernel's limit */

/* Uses system calls, because the preload's replacements of the C library's functions show Adverb's
 * device. */
void adv_uverbs_name(unsigned index, char name[ADV_UVERBS_NAME_LEN])
{
	char path[64];

	for (unsigned n = 0; n < UVERBS_MAX; n++) {
		snprintf(name, ADV_UVERBS_NAME_LEN, "uverbs%u", n);
		snprintf(path, sizeof(path), "/sys/class/infiniband_verbs/%s", name);
		if (syscall(SYS_faccessat, AT_FDCWD, path, F_OK) != 0 && index-- == 0)
			return;
	}
}

uint32_t adv_identity_mbps(uint32_t mbps)
{
	return mbps ? mbps : 100000;
}

void adv_identity_speed(uint32_t mbps, uint8_t *width, uint8_t *speed)
{
	static const struct {
		uint32_t mbps;
		uint8_t width;
		uint8_t speed;
	} table[] = {
		{1000, 1, 1},	 {10000, 1, 8},	  {25000, 1, 32},  {40000, 2, 8},
		{50000, 16, 32}, {100000, 2, 32}, {200000, 2, 64}, {400000, 2, 128},
	};
	const size_t n = ADV_ARRAY_SIZE(table);
	size_t i = 0;

	mbps = adv_identity_mbps(mbps);
	while (i < n - 1 && table[i].mbps < mbps)
		i++;
	*width = table[i].width;
	*speed = table[i].speed;
}

uint32_t adv_identity_shown_mbps(uint32_t mbps)
{
	uint8_t width, speed;
	uint32_t lanes, lane;

	adv_identity_speed(mbps, &width, &speed);
	lanes = width == 2 ? 4 : width == 16 ? 2 : 1;
	lane = speed == 1 ? 2500 : speed == 8 ? 10000 : speed * 25000u / 32;
	return lanes * lane;
}
