#pragma once

/* The scenarios of faults that RBD and CephFS have in common. */
#include "tests/unit/test_faults_fixture.h"

static inline void creation_survives_every_fault(void **state)
{
    (void)state;
    check(&(struct scenario){.title = "CreateVolume", .tested = create_volume});
}

static inline void deletion_survives_every_fault(void **state)
{
    (void)state;
    check(&(struct scenario){.title = "DeleteVolume",
                             .before = {create_volume},
                             .tested = delete_volume,
                             .ends_empty = true});
}

static inline void snapshot_survives_every_fault(void **state)
{
    (void)state;
    check(&(struct scenario){
        .title = "CreateSnapshot", .before = {create_volume}, .tested = create_snapshot});
}

static inline void snapshot_deletion_survives_every_fault(void **state)
{
    (void)state;
    check(&(struct scenario){.title = "DeleteSnapshot",
                             .before = {create_volume, create_snapshot},
                             .tested = delete_snapshot,
                             .after = {delete_volume},
                             .ends_empty = true});
}

static inline void larger_restore_survives_every_fault(void **state)
{
    (void)state;
    check(&(struct scenario){.title = "CreateVolume from a snapshot",
                             .before = {create_volume, create_snapshot},
                             .tested = restore});
}

static inline void larger_clone_survives_every_fault(void **state)
{
    (void)state;
    check(&(struct scenario){.title = "CreateVolume from a volume",
                             .before = {create_volume},
                             .tested = clone_volume,
                             .after = {delete_volume, delete_second},
                             .ends_empty = true});
}

static inline void group_snapshot_survives_every_fault(void **state)
{
    (void)state;
    check(&(struct scenario){.title = "CreateVolumeGroupSnapshot",
                             .before = {create_volume, create_second},
                             .tested = create_group,
                             .after = {delete_group, delete_volume, delete_second},
                             .ends_empty = true});
}

static inline void group_deletion_survives_every_fault(void **state)
{
    (void)state;
    check(&(struct scenario){.title = "DeleteVolumeGroupSnapshot",
                             .before = {create_volume, create_second, create_group},
                             .tested = delete_group,
                             .after = {delete_volume, delete_second},
                             .ends_empty = true});
}

static inline void expansion_survives_every_fault(void **state)
{
    (void)state;
    check(&(struct scenario){
        .title = "ControllerExpandVolume", .before = {create_volume}, .tested = expand});
}

#define COMMON_FAULT_TESTS                                                                         \
    cmocka_unit_test(creation_survives_every_fault),                                               \
        cmocka_unit_test(deletion_survives_every_fault),                                           \
        cmocka_unit_test(snapshot_survives_every_fault),                                           \
        cmocka_unit_test(snapshot_deletion_survives_every_fault),                                  \
        cmocka_unit_test(larger_restore_survives_every_fault),                                     \
        cmocka_unit_test(larger_clone_survives_every_fault),                                       \
        cmocka_unit_test(group_snapshot_survives_every_fault),                                     \
        cmocka_unit_test(group_deletion_survives_every_fault),                                     \
        cmocka_unit_test(expansion_survives_every_fault)
