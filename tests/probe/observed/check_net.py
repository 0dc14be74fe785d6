import main


def test_net():
    main.run()
