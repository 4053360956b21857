/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "runtime/session/users.h"

#include <stdlib.h>

/* ---- users ---- */

void adv_users_init(struct adv_users *u, uint64_t (*clock_ns)(void), unsigned share)
{
	adv_list_init(&u->list);
	adv_list_init(&u->waiting);
	adv_list_init(&u->connections);
	u->clock_ns = clock_ns;
	u->share = share;
}

static void free_user(struct adv_user *user)
{
	adv_list_del(&user->link);
	adv_list_del(&user->turn);
	free(user);
}

void adv_users_free(struct adv_users *u)
{
	while (!adv_list_empty(&u->list))
		free_user(adv_container_of(u->list.next, struct adv_user, link));
}

/* Finds a user. Also frees other users that nothing refers to. */
static struct adv_user *find_user(struct adv_users *u, uid_t uid)
{
	struct adv_user *found = NULL;

	adv_list_for_each_safe(struct adv_user, user, &u->list, link) {
		if (user->uid == uid)
			found = user;
		else if (!user->held && !user->ids)
			free_user(user);
	}
	return found;
}

struct adv_user *adv_users_hold(struct adv_users *u, uid_t uid)
{
	struct adv_user *user = find_user(u, uid);

	if (!user) {
		user = calloc(1, sizeof(*user));
		if (!user)
			return NULL;
		user->uid = uid;
		adv_list_init(&user->turn);
		adv_list_init(&user->waiting);
		adv_list_add_tail(&u->list, &user->link);
	}
	user->held++;
	return user;
}

void adv_users_release(struct adv_user *user)
{
	user->held--;
}

bool adv_users_may_open(const struct adv_users *u, const struct adv_user *user, unsigned count)
{
	return !u->share || user->descriptors + count <= u->share;
}

/* ---- turns ---- */

void adv_user_turn_init(struct adv_users *u, struct adv_user_turn *t, struct adv_user *user,
			pid_t pid, bool (*serve)(struct adv_user_turn *t, uint64_t end))
{
	adv_list_add_tail(&u->connections, &t->connection);
	adv_list_init(&t->link);
	t->user = user;
	t->pid = pid;
	t->serve = serve;
}

void adv_user_turn_queue(struct adv_users *u, struct adv_user_turn *t)
{
	if (adv_list_empty(&t->link))
		adv_list_add_tail(&t->user->waiting, &t->link);
	if (adv_list_empty(&t->user->turn))
		adv_list_add_tail(&u->waiting, &t->user->turn);
}

bool adv_user_turn_read(const struct adv_users *u, bool (*read_one)(void *connection),
			void *connection, unsigned most, uint64_t end)
{
	for (unsigned i = 0; i < most; i++) {
		if (!read_one(connection))
			return false;
		if (u->clock_ns() >= end)
			break;
	}
	return true;
}

void adv_user_turn_end(struct adv_user_turn *t)
{
	adv_list_del(&t->link);
	adv_list_del(&t->connection);
}

bool adv_users_have_process(const struct adv_users *u, pid_t pid)
{
	adv_list_for_each(const struct adv_user_turn, turn, &u->connections, connection) {
		if (turn->pid == pid)
			return true;
	}
	return false;
}

static void serve_user(const struct adv_users *u, struct adv_user *user)
{
	uint64_t now = u->clock_ns(), end = now + ADV_USER_NS;
	struct adv_list round;

	adv_list_init(&round);
	adv_list_move_tail(&round, &user->waiting);
	for (; !adv_list_empty(&round) && now < end; now = u->clock_ns()) {
		struct adv_user_turn *t = adv_container_of(round.next, struct adv_user_turn, link);

		adv_list_del(&t->link);
		if (t->serve(t, now + ADV_USER_TURN_NS))
			adv_list_add_tail(&user->waiting, &t->link);
	}
	adv_list_move_tail(&round, &user->waiting);
	adv_list_move_tail(&user->waiting, &round);
}

void adv_users_serve(struct adv_users *u)
{
	struct adv_list round;

	adv_list_init(&round);
	adv_list_move_tail(&round, &u->waiting);
	while (!adv_list_empty(&round)) {
		struct adv_user *user = adv_container_of(round.next, struct adv_user, turn);

		adv_list_del(&user->turn);
		serve_user(u, user);
		if (!adv_list_empty(&user->waiting))
			adv_list_add_tail(&u->waiting, &user->turn);
	}
}

bool adv_users_pending(const struct adv_users *u)
{
	return !adv_list_empty(&u->waiting);
}
