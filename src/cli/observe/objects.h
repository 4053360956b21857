/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Objects of running programs, in memory, and the texts of their attributes. */
#ifndef ADV_CLI_OBSERVE_OBJECTS_H
#define ADV_CLI_OBSERVE_OBJECTS_H

#include <stddef.h>
#include <stdint.h>

#include "runtime/control/control.h"
#include "nic/engine/resources.h"

#define ADV_COMMAND_TEXT  16 /* bytes of a process's name, with its end */
#define ADV_SOCKADDR_TEXT 64 /* bytes of an address with its port */

/* Objects of one kind. adv_objects_free() releases the memory. */
struct adv_objects {
	struct adv_object *list;
	uint32_t count;
	uint32_t room;
	uint32_t *silent; /* PIDs of processes that did not answer: stopped or too busy */
	size_t silent_count;
};

/* Reads all objects of a kind that the caller may see; pid: of this process only, 0: of all. If it
 * fails, prints an error and returns false. Call adv_objects_free() in either case. */
bool adv_objects_read(struct adv_objects *o, struct adv_control *c, enum adv_resource_kind kind,
		      uint32_t pid);
void adv_objects_free(struct adv_objects *o);

/* Returns the word for a kind ("qp"), as rdma-resource(8) uses it. */
const char *adv_object_kind_name(enum adv_resource_kind kind);
/* Finds the kind with this name. Returns ADV_RESOURCE_KINDS if there is none. */
enum adv_resource_kind adv_object_kind(const char *name);

/* Writes the name of a process, "-" if it cannot be read. */
void adv_object_command(uint32_t pid, char text[ADV_COMMAND_TEXT]);
/* Returns the state of a process as in proc(5): 'R', 'S', 'T' (stopped), ...; 0: there is no such
 * process, or /proc does not show it. */
char adv_object_process_state(uint32_t pid);

/* True if the QP has an address of a peer: RC, UC or XRC from RTR on. */
bool adv_object_has_peer(const struct adv_object *qp);
/* Returns the name of an id's state ("CONNECT"), as rdma-resource(8) prints it. */
const char *adv_object_cm_state(uint8_t state);
/* Returns the name of an id's port space ("TCP"). */
const char *adv_object_port_space(uint32_t port_space);
/* True if the address of an id is this IP address and port. */
bool adv_object_is_at(const uint8_t address[ADV_RESOURCE_SOCKADDR], const uint8_t gid[16],
		      uint16_t port);
/* Writes "192.0.2.1:18515" or "[2001:db8::1]:18515"; "-" if there is no address. */
void adv_object_sockaddr(const uint8_t address[ADV_RESOURCE_SOCKADDR],
			 char text[ADV_SOCKADDR_TEXT]);

#endif
