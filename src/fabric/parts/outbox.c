/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Memory of what parts send to each other. */
#include <stdlib.h>

#include "fabric/parts/part.h"

/* Makes room for `count` elements. Returns the array; NULL: no memory. */
static void *reserve_array(void *array, uint32_t count, uint32_t *room, size_t size)
{
	void *larger;

	if (count <= *room)
		return array;
	larger = realloc(array, count * size);
	if (larger)
		*room = count;
	return larger;
}

bool adv_outbox_reserve(struct adv_outbox *box, uint32_t frames, uint32_t telemetries,
			uint32_t failures)
{
	void *frame = reserve_array(box->frame, frames, &box->frame_room, sizeof(*box->frame));
	void *telemetry = reserve_array(box->telemetry, telemetries, &box->telemetry_room,
					sizeof(*box->telemetry));
	void *failure =
		reserve_array(box->failure, failures, &box->failure_room, sizeof(*box->failure));

	box->frames = box->telemetries = box->failures = 0;
	box->frame = frame ? frame : box->frame;
	box->telemetry = telemetry ? telemetry : box->telemetry;
	box->failure = failure ? failure : box->failure;
	return (frame || !frames) && (telemetry || !telemetries) && (failure || !failures);
}

void adv_outbox_free(struct adv_outbox *box)
{
	free(box->frame);
	free(box->telemetry);
	free(box->failure);
}
