/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The reply to the request "stat" of a control socket: an object of JSON in a file without a name,
 * whose descriptor is sent. It has any length, and the client reads it as slowly as it likes. It
 * needs no header of verbs.
 */
#ifndef ADV_STORAGE_KIT_STAT_FILE_H
#define ADV_STORAGE_KIT_STAT_FILE_H

#include "storage/kit/control_client.h"

struct json_object;

/* Sends the object to a client of a control socket, and drops the reference to it. A client that
 * does not read, or for which there is no memory, gets nothing. */
void adv_kit_stat_file_send(struct json_object *top, int fd);

/* Requests the statistics of the program with this control name. Returns the JSON, which the caller
 * frees; NULL: `why`. */
char *adv_kit_stat_file_fetch(const struct adv_kit_control_kind *kind, const char *name,
			      char why[ADV_KIT_CONTROL_REPLY]);

#endif
