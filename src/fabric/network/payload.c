/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "fabric/network/payload.h"

#include <sys/mman.h>

uint8_t *adv_fabric_payload_create(size_t bytes)
{
	/* calloc() would write to all of it if it takes memory that was freed, and so would the
	 * checking allocators of sanitizers. */
	void *payload =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return payload == MAP_FAILED ? NULL : payload;
}

void adv_fabric_payload_destroy(uint8_t *payload, size_t bytes)
{
	if (payload)
		munmap(payload, bytes);
}
