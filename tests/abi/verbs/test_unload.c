/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tests a program that unloads the user of the libraries while a device is open, as Open MPI does
 * at exit. The code of the device's thread must stay mapped. */
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>
#include <rdma/rdma_cma.h>

#define WHILE 100000 /* us; time in which the thread runs */

static void *load_library(const char *name)
{
	void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);

	if (!library)
		fail_msg("%s", dlerror());
	return library;
}

/* Stores the library's function in *function. */
static void find_function(void *library, const char *name, void *function)
{
	void *found = dlsym(library, name);

	assert_non_null(found);
	*(void **)function = found;
}

static void test_verbs(void **state)
{
	for (unsigned i = 0; i < 2; i++) {
		struct ibv_device **(*get_device_list)(int *);
		struct ibv_context *(*open_device)(struct ibv_device *);
		void *library = load_library("libibverbs.so.1");
		struct ibv_device **devices;

		find_function(library, "ibv_get_device_list", &get_device_list);
		find_function(library, "ibv_open_device", &open_device);
		devices = get_device_list(NULL);
		assert_non_null(devices);
		assert_non_null(devices[0]);
		assert_non_null(open_device(devices[0]));
		assert_int_equal(dlclose(library), 0);
		usleep(WHILE);
	}
}

static void test_rdmacm(void **state)
{
	struct ibv_context **(*get_devices)(int *);
	void *library = load_library("librdmacm.so.1");
	int count = 0;

	find_function(library, "rdma_get_devices", &get_devices);
	assert_non_null(get_devices(&count));
	assert_int_equal(count, 1);
	assert_int_equal(dlclose(library), 0);
	usleep(WHILE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_verbs),
		cmocka_unit_test(test_rdmacm),
	};
	int failed = cmocka_run_group_tests_name("unload", tests, NULL, NULL);

	fflush(NULL);
	_exit(failed); /* open devices are no leaks here */
}
